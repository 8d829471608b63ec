import Foundation
import TestSupport
import Testing

@testable import AppStore

@Suite(.enabled(if: Fixtures.isPresent, "\(Fixtures.reason)")) struct ReceiptFixturesTests {
    @Test func everyAppReceiptSaysWhatAnIndependentDecoderRead() throws {
        let all = try ReceiptFixtures.facts()
        #expect(all.count == 7)
        for (name, facts) in all {
            let checked = try AppReceiptVerifier().check(try ReceiptFixtures.appReceipt(name))
            let receipt = try checked.contents.get()
            #expect(receipt.receiptType == facts.receipt_type, "\(name)")
            #expect(receipt.bundleID == facts.bundle_id, "\(name)")
            #expect(receipt.applicationVersion == facts.application_version, "\(name)")
            #expect(receipt.originalApplicationVersion == facts.original_application_version, "\(name)")
            #expect(receipt.appID == facts.adam_id, "\(name)")
            #expect(receipt.downloadID == facts.download_id, "\(name)")
            #expect(receipt.versionExternalIdentifier == facts.version_external_identifier, "\(name)")
            #expect(receipt.creationDate == AppleDate.withOffset(facts.receipt_creation_date), "\(name)")
            #expect(receipt.originalPurchaseDate == facts.original_purchase_date.flatMap(AppleDate.withOffset))
            #expect(receipt.expirationDate == facts.expiration_date.flatMap(AppleDate.withOffset), "\(name)")
            #expect(receipt.sha1Hash.count == 20, "\(name)")
            let entries = receipt.purchases.map { ReceiptFixtures.Facts.Entry($0).normalised }
            #expect(entries == facts.in_app.map(\.normalised), "\(name)")
            #expect(receipt.answer.transactions.count == facts.in_app.count, "\(name)")
            #expect(receipt.answer.unusableRows.isEmpty, "\(name)")
        }
    }

    @Test func everyReceiptOfApplesIsValid() throws {
        for name in try ReceiptFixtures.facts().keys where name != "xcode.b64" {
            let checked = try AppReceiptVerifier().check(try ReceiptFixtures.appReceipt(name))
            #expect(checked.signature == .valid, "\(name)")
        }
    }

    @Test func aReceiptOfXcodesIsValidForThoseWhoTrustXcode() throws {
        let receipt = try ReceiptFixtures.appReceipt("xcode.b64")
        #expect(
            try AppReceiptVerifier().check(receipt).signature
                == .unknownRoot("the chain ends in “StoreKit”, which is none of the trusted roots"))
        let verifier = AppReceiptVerifier(roots: try ReceiptFixtures.roots("roots/StoreKitTestCertificate.cer"))
        let checked = try verifier.check(receipt)
        #expect(checked.signature == .valid)
        #expect(try checked.contents.get().answer.environment == "Xcode")
        #expect(try checked.contents.get().answer.transactions.map(\.transactionID) == ["0"])
    }

    /// One receipt in both forms: the container, and the answer that Apple gave for it.
    @Test func decodesWhatAppleAnswered() throws {
        let decoded = try AppReceiptVerifier().check(try ReceiptFixtures.appReceipt("recorded-receipt.b64"))
            .contents.get().answer
        let answered = try #require(try RecordedAnswers.answer("recorded-receipt-2.json"))
        // Kinds of products are all that the container tells and the answer doesn't.
        let transactions = decoded.transactions.map { transaction in
            var transaction = transaction
            transaction.productType = nil
            return transaction
        }
        #expect(transactions == answered.transactions)
        #expect(decoded.environment == answered.environment)
        #expect(decoded.bundleID == answered.bundleID)
        #expect(decoded.receiptType == answered.receiptType)
        #expect(decoded.receiptCreationDate == answered.receiptCreationDate)
    }

    @Test(
        arguments: [
            ("receipt", "receipt-root", nil), ("receipt-double-wrapped", "receipt-root", nil),
            ("receipt-no-type", "receipt-root", nil), ("receipt-type-production", "receipt-root", nil),
            ("receipt-type-vpp", "receipt-root", nil), ("receipt-type-vpp-sandbox", "receipt-root", nil),
            ("receipt-expired-historical", "receipt-expired-root", nil),
            ("receipt-expired-fresh", "receipt-expired-root", "had expired on 2024-08-06T12:00:00Z"),
            ("receipt-foreign", "receipt-root", "the signature in the certificate “Fake WWDR CA” is wrong"),
            ("receipt-no-signer-oid", "receipt-no-signer-oid-root", "lacks Apple's marker 1.2.840.113635.100.6.11.1"),
            ("receipt", "jws-root", "which is none of the trusted roots"),
        ] as [(String, String, String?)])
    func forgedReceiptsAreJudgedAsTheirManifestSays(name: String, root: String, reason: String?) throws {
        let receipt = Array(try Fixtures.data("forged/\(name).der"))
        let verifier = AppReceiptVerifier(roots: try ReceiptFixtures.roots("forged/\(root).der"))
        let checked = try verifier.check(receipt)
        #expect(try checked.contents.get().bundleID == "com.example.app")
        switch (checked.signature, reason) {
        case (.valid, nil): break
        case (.untrusted(let found), .some(let reason)), (.unknownRoot(let found), .some(let reason)):
            #expect(found.contains(reason), "\(found)")
        default: Issue.record("\(checked.signature)")
        }
        // None of them is anything to those who trust Apple alone.
        switch try AppReceiptVerifier().check(receipt).signature {
        case .untrusted, .unknownRoot: break
        case .valid, .invalid, .absent: Issue.record("\(name) is trusted")
        }
    }

    @Test func forgedReceiptsSayWhatTheirManifestSays() throws {
        let receipt = try AppReceipt(forged: "receipt")
        #expect(receipt.receiptType == "ProductionSandbox" && receipt.applicationVersion == "1.2.3")
        #expect(receipt.originalApplicationVersion == "1.0" && receipt.opaqueValue == [1, 2, 3, 4, 5, 6, 7, 8])
        #expect(receipt.creationDate?.formatted(.iso8601) == "2024-08-06T12:00:00Z")
        #expect(receipt.purchases.map(\.productID) == ["com.example.app.coins100", "com.example.app.vip"])
        #expect(receipt.purchases.last?.expiresDate?.formatted(.iso8601) == "2030-02-01T09:30:00Z")
        #expect(try AppReceipt(forged: "receipt-double-wrapped") == receipt)
        #expect(try AppReceipt(forged: "receipt-no-type").environment == nil)
        #expect(try AppReceipt(forged: "receipt-type-production").environment == "Production")
        #expect(try AppReceipt(forged: "receipt-type-vpp").environment == "Production")
        #expect(try AppReceipt(forged: "receipt-type-vpp-sandbox").environment == "Sandbox")
    }
}

extension AppReceipt {
    fileprivate init(forged name: String) throws {
        self = try AppReceiptVerifier().check(Array(try Fixtures.data("forged/\(name).der"))).contents.get()
    }
}
