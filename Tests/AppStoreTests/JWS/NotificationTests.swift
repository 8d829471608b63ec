import Foundation
import Testing

@testable import AppStore

@Suite struct NotificationTests {
    private let sandbox = JWSExpectation(bundleID: TestPayload.bundleID, environments: [.sandbox])
    private let production = JWSExpectation(
        bundleID: TestPayload.bundleID, appAppleID: 1234, environments: [.production])

    private func verify(
        _ payload: String, expecting expectation: JWSExpectation
    ) async throws -> Result<AppStoreNotification, JWSError> {
        let chain = try await TestChain.shared.value
        let verifier = JWSVerifier(roots: try chain.roots)
        let jws = try chain.sign(payload)
        return Result { () throws(JWSError) in try verifier.notification(jws, expecting: expectation) }
    }

    private func read(_ json: String) throws -> NotificationPayload? {
        NotificationPayload(try #require(JSONObject(Array(json.utf8))))
    }

    @Test func readsEveryField() throws {
        let payload = try read(
            """
            {"notificationType":"CONSUMPTION_REQUEST","subtype":"NEW","notificationUUID":"u-1","version":"2.0",\
            "signedDate":1700000000500,"data":{"environment":"Production","bundleId":"com.example.game",\
            "appAppleId":1234,"bundleVersion":"7","status":4,"consumptionRequestReason":"FULFILLMENT_ISSUE",\
            "signedTransactionInfo":"t","signedRenewalInfo":"r","signedAppTransactionInfo":"a"}}
            """)
        var expected = AppStoreNotification()
        (expected.type, expected.subtype, expected.uuid) = ("CONSUMPTION_REQUEST", "NEW", "u-1")
        (expected.version, expected.signedDate) = ("2.0", Date(timeIntervalSince1970: 1_700_000_000.5))
        (expected.environment, expected.bundleID, expected.appAppleID) = ("Production", "com.example.game", 1234)
        (expected.bundleVersion, expected.subscriptionStatus) = ("7", 4)
        (expected.consumptionRequestReason, expected.signedTransaction) = ("FULFILLMENT_ISSUE", "t")
        #expect(payload.map { AppStoreNotification($0) } == expected)
        #expect(payload?.subject.renewalInfo == "r" && payload?.subject.appTransaction == "a")
    }

    /// A token for an external purchase names its environment by its id alone.
    @Test(arguments: [
        (#""externalPurchaseId":"SANDBOX_1""#, "Sandbox"), (#""externalPurchaseId":"1_SANDBOX""#, "Production"),
        (#""externalPurchaseId":"SANDBOX_1","environment":"Production""#, "Production"), ("", nil),
    ])
    func tellsTheEnvironmentOfATokenByItsID(fields: String, environment: String?) throws {
        let payload = try read(#"{"notificationType":"T","externalPurchaseToken":{\#(fields)}}"#)
        #expect(payload?.environment == environment)
    }

    @Test(arguments: ["data", "summary", "externalPurchaseToken", "appData"])
    func isNoneWhoseSubjectIsNoObject(kind: String) throws {
        #expect(try read(#"{"notificationType":"T","\#(kind)":"x"}"#) == nil)
        #expect(try read(#"{"notificationType":"T","\#(kind)":null}"#) != nil)
    }

    @Test func verifiesWhatItCarries() async throws {
        let chain = try await TestChain.shared.value
        let carried = """
            ,"appAppleId":1234,"bundleVersion":"7","status":1,\
            "signedTransactionInfo":"\(try chain.sign(TestPayload.transaction("42")))",\
            "signedRenewalInfo":"\(try chain.sign(TestPayload.renewalInfo()))"
            """
        let notification = try await verify(TestPayload.notification(further: carried), expecting: sandbox).get()
        #expect(notification.type == "ONE_TIME_CHARGE")
        #expect(notification.uuid == "u-1")
        #expect(notification.bundleVersion == "7")
        #expect(notification.subscriptionStatus == 1)
        #expect(notification.transaction?.transactionID == "42")
        #expect(notification.renewalInfo?.autoRenewStatus == 1)
    }

    @Test func refusesToCarryWhatAnotherSigned() async throws {
        let foreign = try await TestChain.make()
        let carried = #","signedTransactionInfo":"\#(try foreign.sign(TestPayload.transaction()))""#
        let result = try await verify(TestPayload.notification(further: carried), expecting: sandbox)
        guard case .failure(.nested("signedTransactionInfo", .chain(.untrustedRoot))) = result else {
            return #expect(Bool(false), "\(result)")
        }
    }

    /// A purchase or a refund must not be lost for what only leads to purchases.
    @Test func leavesOutWhatItCannotReadBesideATransaction() async throws {
        let chain = try await TestChain.shared.value
        let unreadable = #","signedRenewalInfo":"of tomorrow","signedAppTransactionInfo":"a.b.c""#
        let transaction = #","signedTransactionInfo":"\#(try chain.sign(TestPayload.transaction("42")))""#
        let whole = TestPayload.notification(further: transaction + unreadable)
        let notification = try await verify(whole, expecting: sandbox).get()
        #expect(notification.transaction?.transactionID == "42")
        #expect(notification.renewalInfo == nil && notification.appTransaction == nil)
        let alone = try await verify(TestPayload.notification(further: unreadable), expecting: sandbox)
        guard case .failure(.nested("signedRenewalInfo", .notCompact)) = alone else {
            return #expect(Bool(false), "\(alone)")
        }
    }

    @Test func refusesToCarryAnotherAppsTransaction() async throws {
        let chain = try await TestChain.shared.value
        let other = try chain.sign(TestPayload.transaction(bundleID: "com.example.other"))
        let result = try await verify(
            TestPayload.notification(further: #","signedTransactionInfo":"\#(other)""#), expecting: sandbox)
        let error = JWSError.bundleID(found: "com.example.other", expected: TestPayload.bundleID)
        #expect(result == .failure(.nested("signedTransactionInfo", error)))
    }

    @Test func comparesTheAppsNumberInProductionOnly() async throws {
        let right = TestPayload.notification(environment: "Production", further: #","appAppleId":1234"#)
        let wrong = TestPayload.notification(environment: "Production", further: #","appAppleId":4321"#)
        let without = TestPayload.notification(environment: "Production")
        _ = try await verify(right, expecting: production).get()
        #expect(
            try await verify(wrong, expecting: production) == .failure(.appAppleID(found: 4321, expected: 1234)))
        #expect(
            try await verify(without, expecting: production) == .failure(.appAppleID(found: nil, expected: 1234)))
        var inSandbox = sandbox
        inSandbox.appAppleID = 1234
        _ = try await verify(TestPayload.notification(further: #","appAppleId":4321"#), expecting: inSandbox).get()
    }

    @Test func refusesAnotherAppOrEnvironment() async throws {
        #expect(
            try await verify(TestPayload.notification(bundleID: "com.example.other"), expecting: sandbox)
                == .failure(.bundleID(found: "com.example.other", expected: TestPayload.bundleID)))
        #expect(
            try await verify(TestPayload.notification(environment: "Production"), expecting: sandbox)
                == .failure(.environment(found: "Production")))
    }

    @Test(arguments: [
        (#""summary":{"environment":"Sandbox","bundleId":"com.example.game","productId":"p"}"#),
        (#""externalPurchaseToken":{"externalPurchaseId":"SANDBOX_1","bundleId":"com.example.game"}"#),
        (#""appData":{"environment":"Sandbox","bundleId":"com.example.game"}"#),
        (#""unclaimInfo":{"environment":"Sandbox","bundleId":"com.example.game","unclaimSeatIds":["s"]}"#),
    ])
    func findsTheAppWhereverItStands(subject: String) async throws {
        let payload = #"{"notificationType":"T","signedDate":\#(TestPayload.now),\#(subject)}"#
        _ = try await verify(payload, expecting: sandbox).get()
        let other = payload.replacing("com.example.game", with: "com.example.other")
        #expect(
            try await verify(other, expecting: sandbox)
                == .failure(.bundleID(found: "com.example.other", expected: TestPayload.bundleID)))
    }

    @Test func refusesOneThatNamesNoApp() async throws {
        let payload = #"{"notificationType":"TEST","signedDate":\#(TestPayload.now)}"#
        #expect(try await verify(payload, expecting: sandbox) == .failure(.environment(found: nil)))
    }

    @Test func verifiesAppTransactionsAtTheirCreation() async throws {
        let chain = try await TestChain.shared.value
        let verifier = JWSVerifier(roots: try chain.roots)
        let payload = { (date: Int64, id: Int) in
            try chain.sign(
                #"{"bundleId":"com.example.game","receiptType":"Production","appAppleId":\#(id),"#
                    + #""applicationVersion":"1.2","receiptCreationDate":\#(date)}"#)
        }
        let read = try verifier.appTransaction(try payload(TestPayload.now, 1234), expecting: production)
        #expect(read.applicationVersion == "1.2")
        #expect(throws: JWSError.appAppleID(found: 1, expected: 1234)) {
            try verifier.appTransaction(try payload(TestPayload.now, 1), expecting: production)
        }
        #expect(throws: JWSError.self) {
            try verifier.appTransaction(try payload(1_500_000_000_000, 1234), expecting: production)
        }
    }
}
