import AppStore
import AppStoreSimulator
import CBaselines
import Foundation

/// Receipts and signed transactions verified on one core, offline. The limits are plain C on the same OpenSSL; the time
/// is the processor's.
enum OfflineReceipts {
    private static let rounds = 7
    private static let count = 2_000
    private static let signedAt = Date(timeIntervalSince1970: 1_780_000_000)
    private static let store = SimulatedAppStore(seed: Bench.seed)

    static func appReceipts() throws -> [Measurement] {
        let receipts = try (0..<count).map { try appReceipt($0) }
        let roots = store.rootCertificatesPEM
        let verifier = AppReceiptVerifier(roots: try TrustRoots.none.adding(contentsOf: roots.utf8))
        let plain = CTexts(receipts)
        let at = Int64(signedAt.timeIntervalSince1970)
        let seconds = try Timing.best(
            of: rounds,
            [
                { for receipt in receipts { try demand(try verifier.check(receipt).signature == .valid) } },
                { try demand(CBaselines_appReceipts(plain.texts, count, roots, at, 1) == count) },
                { try demand(CBaselines_appReceipts(plain.texts, count, roots, at, 0) == count) },
            ])
        let speed = seconds.map { Double(count) / $0 }
        return [
            Measurement(
                benchmark: "app-receipts", what: "app receipts, offline, one core", value: speed[0],
                unit: "receipts/s", limit: speed[1], against: "C: CMS_verify with the chain, each time",
                aim: .atLeast(0.9)),
            Measurement(
                benchmark: "app-receipts", what: "app receipts, offline, one core", value: speed[0],
                unit: "receipts/s", limit: speed[2], against: "C: CMS_verify of the signature alone", aim: nil),
        ]
    }

    static func signedTransactions() throws -> [Measurement] {
        let transactions = (0..<count).map(signedTransaction)
        let roots = store.rootCertificatesPEM
        let verifier = JWSVerifier(roots: try TrustRoots.none.adding(contentsOf: roots.utf8))
        let expectation = JWSExpectation(bundleID: Bench.bundleID)
        let plain = CTexts(transactions.map { Array($0.utf8) })
        guard let signatures = CBaselines_prepareSignatures(plain.texts, count) else {
            throw BenchmarkError("the baseline can't read a signed transaction")
        }
        defer { CBaselines_freeSignatures(signatures) }
        let seconds = try Timing.best(
            of: rounds,
            [
                { for jws in transactions { _ = try verifier.transaction(jws, expecting: expectation) } },
                { try demand(CBaselines_signedTransactions(plain.texts, count, roots) == count) },
                { try demand(CBaselines_verifySignatures(signatures) == count) },
            ])
        let speed = seconds.map { Double(count) / $0 }
        return [
            Measurement(
                benchmark: "jws", what: "signed transactions (JWS), offline, one core", value: speed[0],
                unit: "JWS/s", limit: speed[1], against: "C: chain and ECDSA, each time", aim: .atLeast(1)),
            Measurement(
                benchmark: "jws", what: "signed transactions (JWS), offline, one core", value: speed[0],
                unit: "JWS/s", limit: speed[2], against: "C: ECDSA alone", aim: nil),
        ]
    }

    private static func demand(_ isRight: Bool) throws {
        guard isRight else { throw BenchmarkError("a genuine receipt was refused") }
    }

    private static func appReceipt(_ number: Int) throws -> [UInt8] {
        let receipt = SimulatedReceipt(
            bundleID: Bench.bundleID, account: "bench-\(number)", createdAt: signedAt,
            transactions: (0..<10).map { transaction(number * 10 + $0) })
        guard let bytes = Data(base64Encoded: store.makeReceipt(receipt)) else {
            throw BenchmarkError("a receipt is not base64")
        }
        return Array(bytes)
    }

    private static func signedTransaction(_ number: Int) -> String {
        store.makeReceipt(
            SimulatedReceipt(
                style: .signedTransaction, bundleID: Bench.bundleID, account: "bench-\(number)", createdAt: signedAt,
                transactions: [transaction(number)]))
    }

    private static func transaction(_ number: Int) -> SimulatedTransaction {
        SimulatedTransaction(
            id: String(1_000_000_000_000_000 + number), productID: "gems.100",
            purchasedAt: signedAt.addingTimeInterval(-600),
            price: SimulatedTransaction.Price(milliunits: 1_990, currency: "USD"))
    }
}

/// Byte strings that C may read as long as this object lives.
private final class CTexts {
    private let buffers: [UnsafeMutableBufferPointer<UInt8>]
    let texts: [CBaselines_Text]

    init(_ contents: [[UInt8]]) {
        buffers = contents.map { bytes in
            let buffer = UnsafeMutableBufferPointer<UInt8>.allocate(capacity: bytes.count)
            _ = buffer.initialize(from: bytes)
            return buffer
        }
        texts = buffers.map { CBaselines_Text(bytes: $0.baseAddress, count: $0.count) }
    }

    deinit {
        for buffer in buffers { buffer.deallocate() }
    }
}
