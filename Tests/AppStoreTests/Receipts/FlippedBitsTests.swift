import Foundation
import TestSupport
import Testing

@testable import AppStore

/// No flipped bit anywhere in a receipt may leave it valid with other contents; and none in what was signed may leave
/// it valid at all. Bytes that verification rightly ignores, such as those of an embedded root, are counted.
@Suite struct FlippedBitsTests {
    /// What a small receipt shows is shown by the real ones where they are.
    @Test(.disabled(if: Fixtures.isPresent, "the receipts of Apple's are examined")) func ofAnAppReceipt() async throws
    {
        let receipt = try await SharedAuthority.receipt()
        try await examine(receipt, AppReceiptVerifier(roots: try await SharedAuthority.roots), "made here")
    }

    @Test(.enabled(if: Fixtures.isPresent, "\(Fixtures.reason)"))
    func ofAReceiptOfXcodes() async throws {
        let roots = try ReceiptFixtures.roots("roots/StoreKitTestCertificate.cer")
        try await examine(try ReceiptFixtures.appReceipt("xcode.b64"), AppReceiptVerifier(roots: roots), "Xcode's")
    }

    @Test(.enabled(if: Fixtures.isPresent, "\(Fixtures.reason)"))
    func ofAReceiptOfApples() async throws {
        try await examine(try ReceiptFixtures.appReceipt("bliap-sandbox.b64"), AppReceiptVerifier(), "Apple's")
    }

    @Test(.enabled(if: Fixtures.isPresent, "\(Fixtures.reason)"))
    func ofATransactionReceiptOfApples() async throws {
        let receipt = try ReceiptFixtures.transactionReceipt()
        let verifier = TransactionReceiptVerifier()
        let original = try verifier.check(receipt)
        #expect(original.signature == .valid)
        let info = try TransactionReceiptContainer(receipt).purchaseInfo
        let ignored = await ignoredBytes(of: receipt) { flipped in
            guard let checked = try? verifier.check(flipped), checked.signature == .valid else { return .notValid }
            let hasSameInfo = (try? TransactionReceiptContainer(flipped))?.purchaseInfo == info
            return checked.receipt == original.receipt && hasSameInfo ? .same : .changed
        }
        print("A transaction receipt of Apple's: \(receipt.count) bytes, \(ignored.count) rightly ignored.")
        // What isn't signed: pod, signing status, and white space.
        #expect(ignored.count < receipt.count / 20)
    }

    private func examine(_ receipt: [UInt8], _ verifier: AppReceiptVerifier, _ name: String) async throws {
        let original = try verifier.check(receipt)
        #expect(original.signature == .valid)
        let ignored = await ignoredBytes(of: receipt) { flipped in
            guard let checked = try? verifier.check(flipped), checked.signature == .valid else { return .notValid }
            return checked == original ? .same : .changed
        }
        #expect(ignored.isDisjoint(with: try signedRange(of: receipt)))
        print("An app receipt, \(name): \(receipt.count) bytes, \(ignored.count) rightly ignored.")
    }

    private enum Outcome {
        case notValid
        case same
        case changed
    }

    /// The bytes in which some flipped bit leaves the receipt as it was. None may change a receipt that stays valid.
    private func ignoredBytes(
        of receipt: [UInt8], check: @escaping @Sendable ([UInt8]) -> Outcome
    ) async -> Set<Int> {
        let middle = receipt.count / 2
        return await withTaskGroup(of: Set<Int>.self) { tasks in
            for range in [0..<middle, middle..<receipt.count] {
                tasks.addTask {
                    var ignored = Set<Int>()
                    Mutation.everyFlippedBit(of: receipt, in: range) { flipped, byte in
                        switch check(flipped) {
                        case .notValid: break
                        case .same: ignored.insert(byte)
                        case .changed: Issue.record("byte \(byte) changed the contents of a valid receipt")
                        }
                    }
                    return ignored
                }
            }
            return await tasks.reduce(into: []) { $0.formUnion($1) }
        }
    }

    /// Where in the receipt the octets stand that were signed.
    private func signedRange(of receipt: [UInt8]) throws -> Range<Int> {
        let container = try SignedContainer(receipt)
        guard case .right(let content, _, _) = container.verifiedSignature() else { throw ReceiptError.notPKCS7 }
        let start = try #require(receipt.indices.first { receipt[$0...].starts(with: content) })
        return start..<(start + content.count)
    }
}
