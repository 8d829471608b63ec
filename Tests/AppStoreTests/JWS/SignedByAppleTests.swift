import Foundation
import Testing

@testable import AppStore

/// Payloads that Apple signed, and such as other projects made to be refused; kept beside the repository, for they are
/// not the project's.
private enum SignedFixtures {
    static let folder: URL? = {
        let fixtures =
            ProcessInfo.processInfo.environment["IAP_FIXTURES"].map { URL(filePath: $0) }
            ?? URL(filePath: #filePath).appending(path: "../../../../../shared/fixtures").standardizedFileURL
        return FileManager.default.fileExists(atPath: fixtures.appending(path: "jws").path()) ? fixtures : nil
    }()

    static func text(_ path: String) throws -> String {
        String(decoding: try bytes(path), as: UTF8.self)
    }

    static func bytes(_ path: String) throws -> Data {
        guard let folder else { throw CocoaError(.fileNoSuchFile) }
        return try Data(contentsOf: folder.appending(path: path))
    }

    /// A verifier that trusts this file alone.
    static func verifier(trusting path: String) throws -> JWSVerifier {
        JWSVerifier(roots: try TrustRoots.none.adding(contentsOf: try bytes(path)))
    }
}

@Suite(
    .enabled(
        if: SignedFixtures.folder != nil,
        "the signed payloads are not beside the repository (IAP_FIXTURES names their folder)"))
struct SignedByAppleTests {
    @Test func acceptsAConsumable() throws {
        let transaction = try JWSVerifier().transaction(
            try SignedFixtures.text("jws/transaction-consumable.jws"),
            expecting: JWSExpectation(bundleID: "com.goodheartapp")
        ).transaction()
        #expect(transaction.transactionID == "2000000847061981")
        #expect(transaction.productID == "gh_super_good_ticket_1")
        #expect(transaction.purchaseDate == Date(timeIntervalSince1970: 1_738_645_560))
        #expect(transaction.productType == "Consumable")
        #expect(transaction.priceMilliunits == 230_000)
        #expect(transaction.currency == "JPY")
        #expect(transaction.storefront == "JPN")
    }

    @Test(arguments: ["jws/renewal-info-2023-0.jws", "jws/renewal-info-2023-1.jws"])
    func acceptsRenewalInfoWhoseCertificateHasSinceExpired(path: String) throws {
        let renewal = try JWSVerifier().renewalInfo(try SignedFixtures.text(path), expecting: .anything)
        #expect(renewal.originalTransactionID == "2000000335310644")
        #expect(renewal.autoRenewProductID == "co.ringalarm.swtich.quarterly2")
        #expect(renewal.autoRenewStatus == 1)
    }

    @Test func acceptsANotification() throws {
        let notification = try JWSVerifier().notification(
            try SignedFixtures.text("jws/notification-test-2022.jws"),
            expecting: JWSExpectation(bundleID: "com.Abilities", environments: [.sandbox]))
        #expect(notification.type == "TEST")
        #expect(notification.uuid == "5e09dcfc-205e-4ea1-9883-96676f394992")
    }

    @Test func acceptsThemFromApplesRootAlone() throws {
        let jws = try SignedFixtures.text("jws/transaction-consumable.jws")
        let g3 = try SignedFixtures.verifier(trusting: "roots/AppleRootCA-G3.cer")
        _ = try g3.transaction(jws, expecting: .anything)
        #expect(throws: JWSError.self) {
            try JWSVerifier(roots: .none).transaction(jws, expecting: .anything)
        }
    }

    @Test(arguments: ["com.goodheartapp.other", ""])
    func refusesAGenuineTransactionOfAnotherApp(bundleID: String) throws {
        #expect(throws: JWSError.bundleID(found: "com.goodheartapp", expected: bundleID)) {
            try JWSVerifier().transaction(
                try SignedFixtures.text("jws/transaction-consumable.jws"),
                expecting: JWSExpectation(bundleID: bundleID))
        }
    }

    /// A bit in every third character of the real one: the certificates' too, which are signed over.
    @Test func refusesAnAlteredRealOne() throws {
        let original = Array(try SignedFixtures.text("jws/transaction-consumable.jws").utf8)
        let verifier = JWSVerifier()
        for index in stride(from: 0, to: original.count, by: 3) {
            var altered = original
            altered[index] ^= 1 << UInt8(index % 8)
            let payload: SignedTransaction? = try? verifier.verify(altered, expecting: .anything)
            #expect(payload == nil, "byte \(index)")
        }
    }

    // What Apple's own library is tested with.

    @Test func acceptsWhatApplesLibraryAccepts() throws {
        let verifier = try SignedFixtures.verifier(trusting: "apple-test-jws/testCA.der")
        let app = JWSExpectation(bundleID: "com.example", appAppleID: 1234, environments: [.sandbox])
        _ = try verifier.transaction(try SignedFixtures.text("apple-test-jws/transactionInfo"), expecting: app)
        _ = try verifier.notification(try SignedFixtures.text("apple-test-jws/testNotification"), expecting: app)
        _ = try verifier.renewalInfo(try SignedFixtures.text("apple-test-jws/renewalInfo"), expecting: app)
    }

    @Test func refusesWhatApplesLibraryRefuses() throws {
        let verifier = try SignedFixtures.verifier(trusting: "apple-test-jws/testCA.der")
        let app = JWSExpectation(bundleID: "com.example", appAppleID: 1234)
        #expect(throws: JWSError.noSigningDate) {
            try verifier.notification(try SignedFixtures.text("apple-test-jws/wrongBundleId"), expecting: app)
        }
        #expect(throws: JWSError.certificateCount(0)) {
            try verifier.notification(
                try SignedFixtures.text("apple-test-jws/missingX5CHeaderClaim"), expecting: app)
        }
        #expect(throws: JWSError.self) {
            try verifier.transaction(try SignedFixtures.text("apple-test-jws/legacyTransaction"), expecting: app)
        }
    }

    // What another project made to be accepted or refused, as its manifest says.

    private func forged(_ name: String, root: String) throws -> Result<SignedTransaction, JWSError> {
        let verifier = try SignedFixtures.verifier(trusting: "forged/\(root)")
        let jws = try SignedFixtures.text("forged/\(name)")
        return Result { () throws(JWSError) in
            try verifier.transaction(jws, expecting: JWSExpectation(bundleID: "com.example.app"))
        }
    }

    @Test func tellsForgedFromGenuine() throws {
        _ = try forged("transaction.jws", root: "jws-root.der").get()
        let foreign = try forged("transaction.jws", root: "jws-no-leaf-oid-root.der")
        guard case .failure(.chain) = foreign else { return #expect(Bool(false), "\(foreign)") }
        let noLeafMarker = try forged("transaction-no-leaf-oid.jws", root: "jws-no-leaf-oid-root.der")
        guard case .failure(.chain(.missingMarker("1.2.840.113635.100.6.11.1", _))) = noLeafMarker else {
            return #expect(Bool(false), "\(noLeafMarker)")
        }
        let noMarker = try forged("transaction-no-intermediate-oid.jws", root: "jws-no-intermediate-oid-root.der")
        guard case .failure(.chain(.missingMarker("1.2.840.113635.100.6.2.1", _))) = noMarker else {
            return #expect(Bool(false), "\(noMarker)")
        }
    }

    @Test func judgesForgedCertificatesWhenTheySigned() throws {
        _ = try forged("expired-cert-historical.jws", root: "jws-expired-root.der").get()
        let fresh = try forged("expired-cert-fresh.jws", root: "jws-expired-root.der")
        guard case .failure(.chain(.expired)) = fresh else { return #expect(Bool(false), "\(fresh)") }
    }

    @Test func verifiesForgedAppTransactions() throws {
        let verifier = try SignedFixtures.verifier(trusting: "forged/jws-root.der")
        let app = JWSExpectation(bundleID: "com.example.app", appAppleID: 123_456_789)
        for name in ["app-transaction.jws", "app-transaction-production.jws"] {
            let read = try verifier.appTransaction(try SignedFixtures.text("forged/\(name)"), expecting: app)
            #expect(read.applicationVersion == "1.2.3")
            #expect(read.originalApplicationVersion == "1.0")
        }
        let other = JWSExpectation(bundleID: "com.example.app", appAppleID: 1)
        #expect(throws: JWSError.appAppleID(found: 123_456_789, expected: 1)) {
            try verifier.appTransaction(
                try SignedFixtures.text("forged/app-transaction-production.jws"), expecting: other)
        }
    }
}
