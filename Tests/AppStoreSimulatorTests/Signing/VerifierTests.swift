import AppStore
import Foundation
import Testing

@testable import AppStoreSimulator

/// What the simulator signs, as the job's own verifiers see it.
@Suite struct VerifierTests {
    private let signer = ReceiptSigner(seed: 7)
    private let roots: TrustRoots

    init() throws {
        roots = try TrustRoots.apple.adding(contentsOf: signer.keys.rootsPEM.utf8)
    }

    private var transactions: [SimulatedTransaction] {
        let period = SimulatedTransaction(
            id: "370000000000003", originalID: "370000000000002", productID: "com.example.game.pass.weekly",
            purchasedAt: testNow, expiresAt: testNow.addingTimeInterval(604_800))
        return [consumable("370000000000001"), period]
    }

    @Test func theyReadAppReceipts() throws {
        guard case .appReceipt(let bytes) = try ReceiptText(signer.encode(receipt(transactions)).utf8) else {
            Issue.record("not taken for an app receipt")
            return
        }
        let checked = try AppReceiptVerifier(roots: roots).check(bytes)
        #expect(checked.signature == .valid)
        #expect(try AppReceiptVerifier().check(bytes).signature != .valid)
        let contents = try checked.contents.get()
        #expect(contents.receiptType == "Production")
        #expect(contents.bundleID == "com.example.game")
        #expect(contents.opaqueValue == Array("account-1".utf8))
        #expect(contents.creationDate == testNow.addingTimeInterval(-86_400))
        #expect(contents.purchases.count == 2)
        let period = try #require(contents.purchases.first { $0.transactionID == "370000000000003" })
        #expect(period.originalTransactionID == "370000000000002")
        #expect(period.productType == 3)
        #expect(period.expiresDate == testNow.addingTimeInterval(604_800))
        #expect(period.cancellationDate == nil)
    }

    @Test func theyReadTransactionReceipts() throws {
        var old = receipt([consumable("370000000000001")])
        old.style = .transactionReceipt
        guard case .transactionReceipt(let bytes) = try ReceiptText(signer.encode(old).utf8) else {
            Issue.record("not taken for an iOS 6 style receipt")
            return
        }
        let checked = try TransactionReceiptVerifier(roots: roots).check(bytes)
        #expect(checked.signature == .valid)
        #expect(checked.receipt.bundleID == "com.example.game")
        #expect(checked.receipt.fields["transaction-id"] == "370000000000001")
        #expect(checked.receipt.environment == "Production")
    }

    @Test func theyReadSignedTransactions() throws {
        var proof = receipt([consumable("370000000000001")], environment: .sandbox)
        proof.style = .signedTransaction
        proof.transactions[0].price = SimulatedTransaction.Price(milliunits: 990, currency: "USD")
        guard case .signed(let text) = try ReceiptText(signer.encode(proof).utf8) else {
            Issue.record("not taken for a JWS")
            return
        }
        let verifier = JWSVerifier(roots: roots)
        let transaction = try verifier.transaction(text, expecting: JWSExpectation(bundleID: "com.example.game"))
        #expect(transaction.transactionID == "370000000000001")
        #expect(transaction.environment == "Sandbox")
        #expect(throws: JWSError.self) {
            try JWSVerifier().transaction(text, expecting: JWSExpectation(bundleID: "com.example.game"))
        }
        #expect(throws: JWSError.self) {
            try verifier.transaction(text, expecting: JWSExpectation(bundleID: "com.example.reader"))
        }
    }
}
