import Foundation
import TestSupport
import Testing

@testable import AppStoreSimulator

@Suite struct AppReceiptTests {
    private let signer = ReceiptSigner(seed: 7)

    private func openssl(_ arguments: [String]) async throws -> (status: Int32, output: String) {
        let ended = try await ChildProcess.run("/usr/bin/openssl", arguments)
        return (ended.status, ended.output + ended.errors)
    }

    /// A receipt of 2024 is signed over SHA-1, one of 2026 over SHA-256.
    @Test(arguments: [1_710_000_000, 1_795_000_000] as [Double])
    func opensslVerifiesItToTheRoot(createdAt: Double) async throws {
        var receipt = receipt([consumable("370000000000001"), consumable("370000000000002")])
        receipt.createdAt = Date(timeIntervalSince1970: createdAt)
        let der = try #require(Data(base64Encoded: signer.encode(receipt)))
        try await withTemporaryFolder { folder async throws -> Void in
            let file = folder.appending(path: "receipt.der")
            let root = folder.appending(path: "root.pem")
            try der.write(to: file)
            try signer.keys.rootsPEM.write(to: root, atomically: true, encoding: .utf8)
            let verified = try await openssl([
                "cms", "-verify", "-inform", "DER", "-in", file.path, "-CAfile", root.path, "-purpose", "any",
                "-attime", "\(Int(createdAt))", "-out", "/dev/null",
            ])
            #expect(verified.status == 0, "\(verified.output)")
            let printed = try await openssl(["cms", "-cmsout", "-print", "-inform", "DER", "-in", file.path])
            #expect(printed.output.contains("algorithm: sha\(createdAt < 1_737_676_800 ? "1 " : "256 ")"))
            #expect(printed.output.contains("signedAttrs:\n          <ABSENT>"))
        }
    }

    @Test func holdsEverythingThatTheReceiptSays() throws {
        var transactions = [consumable("370000000000001")]
        transactions[0].quantity = 3
        transactions[0].appAccountToken = "6F3F9A56-32A6-4DC9-9EDC-1C5B2C4C1B2E"
        transactions.append(
            SimulatedTransaction(
                id: "370000000000003", originalID: "370000000000002", productID: "com.example.game.pass.weekly",
                purchasedAt: testNow, originalPurchasedAt: testNow.addingTimeInterval(-86_400),
                expiresAt: testNow.addingTimeInterval(604_800), isTrial: true, isFamilyShared: true))
        transactions.append(
            SimulatedTransaction(
                id: "370000000000004", productID: "com.example.game.noads", productType: .nonConsumable,
                purchasedAt: testNow))
        var receipt = receipt(transactions, environment: .sandbox)
        var read = try signer.decode(signer.encode(receipt))
        receipt.transactions.sort { $0.id < $1.id }
        read.transactions.sort { $0.id < $1.id }
        #expect(read == receipt)
    }

    @Test func isTheSameForTheSameSeedAlone() {
        let receipt = receipt([consumable("370000000000001")])
        #expect(signer.encode(receipt) == ReceiptSigner(seed: 7).encode(receipt))
        #expect(signer.encode(receipt) != ReceiptSigner(seed: 8).encode(receipt))
    }

    @Test func noBitOfContentOrSignatureCanBeChanged() throws {
        let receipt = receipt([consumable("370000000000001")])
        let der = Array(try #require(Data(base64Encoded: signer.encode(receipt))))
        let container = try SignedDataContainer(der: der)
        let content = try #require(der.firstRange(of: container.content))
        let signature = try #require(der.firstRange(of: container.signature))
        for position in Array(content).striding(by: 7) + Array(signature).striding(by: 5) {
            var changed = der
            changed[position] ^= 1 << UInt8(position % 8)
            #expect(throws: ReceiptSigner.Unreadable.notAuthentic) {
                try signer.decode(Data(changed).base64EncodedString())
            }
        }
    }

    @Test func whatIsCutIsMalformed() throws {
        let text = signer.encode(receipt([consumable("370000000000001")]))
        for length in stride(from: 0, to: text.utf8.count - 4, by: 400) {
            #expect(throws: ReceiptSigner.Unreadable.malformed) { try signer.decode(String(text.prefix(length))) }
        }
    }

    @Test func forgeriesAreReceiptsOfNobody() {
        let forgery = signer.forge(receipt([consumable("370000000000001")]))
        #expect(throws: ReceiptSigner.Unreadable.notAuthentic) { try signer.decode(forgery) }
    }
}

extension Array {
    fileprivate func striding(by step: Int) -> [Element] {
        stride(from: 0, to: count, by: step).map { self[$0] }
    }
}
