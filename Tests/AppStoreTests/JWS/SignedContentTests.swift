import Foundation
import TestSupport
import Testing

@testable import AppStore

/// What Apple signs, told apart by what it says.
@Suite struct SignedContentTests {
    private static let appTransaction = """
        {"receiptType":"Sandbox","bundleId":"com.example.game","appTransactionId":"704",\
        "receiptCreationDate":\(TestPayload.now)}
        """

    private func content(
        _ payload: String, expecting expectation: JWSExpectation = .anything
    ) async throws -> Result<SignedContent, JWSError> {
        let chain = try await TestChain.shared.value
        let (verifier, jws) = (JWSVerifier(roots: try chain.roots), try chain.sign(payload))
        return Result { () throws(JWSError) in try verifier.content(jws, expecting: expectation) }
    }

    @Test func tellsEveryKindApart() async throws {
        let chain = try await TestChain.shared.value
        guard case .transaction(let transaction) = try await content(TestPayload.transaction("42")).get(),
            case .renewalInfo(let renewal) = try await content(TestPayload.renewalInfo()).get(),
            case .appTransaction(let app) = try await content(Self.appTransaction).get()
        else { return #expect(Bool(false)) }
        #expect(transaction.transactionID == "42")
        #expect(renewal.originalTransactionID == "2000000000000001")
        #expect(app.appTransactionID == "704")
        let carried = #","signedTransactionInfo":"\#(try chain.sign(TestPayload.transaction("42")))""#
        guard case .notification(let notification) = try await content(TestPayload.notification(further: carried)).get()
        else { return #expect(Bool(false)) }
        #expect(notification.uuid == "u-1")
        #expect(notification.transaction?.transactionID == "42")
    }

    @Test(arguments: [#""autoRenewProductId":"gold""#, #""autoRenewStatus":0"#])
    func knowsARenewalInfoByEitherOfItsFields(field: String) async throws {
        let environment = #""environment":"Sandbox","signedDate":\#(TestPayload.now)"#
        let content = try await content(#"{"originalTransactionId":"42",\#(field),\#(environment)}"#).get()
        guard case .renewalInfo(let renewal) = content else { return #expect(Bool(false), "\(content)") }
        #expect(renewal.originalTransactionID == "42")
    }

    /// It is Apple's, whatever it is about.
    @Test func takesWhatAppleSignedInAnyEnvironment() async throws {
        for environment in ["Production", "Moon", ""] {
            _ = try await content(TestPayload.transaction(environment: environment)).get()
            _ = try await content(TestPayload.notification(environment: environment)).get()
        }
        _ = try await content(#"{"notificationType":"TEST","signedDate":\#(TestPayload.now)}"#).get()
    }

    @Test func comparesWhatItIsToldTo() async throws {
        let expectation = JWSExpectation(bundleID: TestPayload.bundleID, environments: [.sandbox])
        let wrong = JWSError.bundleID(found: "com.example.other", expected: TestPayload.bundleID)
        for payload in [
            TestPayload.transaction(bundleID: "com.example.other"),
            TestPayload.notification(bundleID: "com.example.other"),
            Self.appTransaction.replacing("com.example.game", with: "com.example.other"),
        ] {
            #expect(try await content(payload, expecting: expectation) == .failure(wrong))
        }
        for payload in [TestPayload.transaction(environment: "Moon"), TestPayload.renewalInfo(environment: "Moon")] {
            #expect(try await content(payload, expecting: expectation) == .failure(.environment(found: "Moon")))
        }
    }

    @Test(arguments: ["Xcode", "LocalTesting"])
    func takesWhatAnyoneSignsOnlyWhereThatIsAllowed(environment: String) async throws {
        let known = try #require(AppStoreEnvironment(rawValue: environment))
        let payload = TestPayload.renewalInfo(environment: environment)
        #expect(try await content(payload) == .failure(.notSignedByApple(known)))
        var expectation = JWSExpectation.anything
        expectation.environments.insert(known)
        _ = try await content(payload, expecting: expectation).get()
    }

    @Test func neverAcceptsAnAlteredNotification() async throws {
        let chain = try await TestChain.shared.value
        let verifier = JWSVerifier(roots: try chain.roots)
        let carried = """
            ,"signedTransactionInfo":"\(try chain.sign(TestPayload.transaction("42")))",\
            "signedRenewalInfo":"\(try chain.sign(TestPayload.renewalInfo()))"
            """
        let original = try chain.sign(TestPayload.notification(further: carried))
        let genuine = try verifier.content(original, expecting: .anything)
        var altering = Altering(seed: 20_261_123, scraps: ["null", "{}", ".", "..", "=", "AAAA", "-_", "\u{0}"])
        for _ in 0..<500 {
            let altered = String(decoding: altering.alter(Array(original.utf8)), as: UTF8.self)
            let content = try? verifier.content(altered, expecting: .anything)
            #expect(content == nil || content == genuine)
        }
    }

    // MARK: As a person looks into it

    @Test func saysWhatEachKindHolds() async throws {
        let chain = try await TestChain.shared.value
        let inspector = ReceiptInspector(roots: try chain.roots)
        let inspect = { (payload: String) in try inspector.inspect(Array(try chain.sign(payload).utf8)) }
        let renewal = try inspect(TestPayload.renewalInfo())
        #expect(renewal.content == "renewal_info" && renewal.signature == .valid)
        #expect(renewal.renewalInfo?.originalTransactionID == "2000000000000001")
        let app = try inspect(Self.appTransaction)
        #expect(app.content == "app_transaction" && app.signature == .valid)
        #expect(app.appTransaction?.appTransactionID == "704")
        let carried = """
            ,"signedTransactionInfo":"\(try chain.sign(TestPayload.transaction("42")))",\
            "signedRenewalInfo":"\(try chain.sign(TestPayload.renewalInfo()))",\
            "signedAppTransactionInfo":"\(try chain.sign(Self.appTransaction))"
            """
        let notification = try inspect(TestPayload.notification(further: carried))
        #expect(notification.content == "notification" && notification.signature == .valid)
        #expect(notification.notification?.type == "ONE_TIME_CHARGE")
        #expect(notification.transactions.map(\.transactionID) == ["42"])
        #expect(notification.renewalInfo?.autoRenewStatus == 1)
        #expect(notification.appTransaction?.appTransactionID == "704")
        let broken = try inspect(TestPayload.notification(further: #","signedTransactionInfo":"?""#))
        #expect(broken.signature != .valid && broken.problems.count == 1)
    }
}
