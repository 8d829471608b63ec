import Foundation
import Reconciliation
import TestSupport
import Testing
import Verification

@testable import AppStoreSimulator

/// Every kind of JWS that Apple signs, as a client or an app's server may upload it.
@Suite struct SignedProofTests {
    /// Proofs that name no purchase, and what the App Store Server API is asked with.
    private static let leads: [(payload: String, asked: String)] = [
        (Signed.renewalInfo("42"), "/inApps/v2/history/42?sort=ASCENDING"),
        (Signed.appTransaction("704"), "/inApps/v2/history/704?sort=ASCENDING"),
        (
            Signed.notification("RENEWAL_EXTENDED", data: #","signedRenewalInfo":"\#(Signed.renewalInfo("42"))""#),
            "/inApps/v2/history/42?sort=ASCENDING"
        ),
        (
            Signed.notification("T", data: #","signedAppTransactionInfo":"\#(Signed.appTransaction("704"))""#),
            "/inApps/v2/history/704?sort=ASCENDING"
        ),
        (Signed.appTransaction("704", environment: "Sandbox"), "/sandbox/inApps/v2/history/704?sort=ASCENDING"),
    ]

    private func ids(_ judgement: AppVerifier.Judgement) -> [String]? {
        guard case .verified(let receipt) = judgement.verdict else { return nil }
        return receipt.transactions.map(\.transaction.id.text)
    }

    // MARK: Notifications

    @Test(arguments: [VerificationMethod.auto, .verifyReceipt, .local])
    func aNotificationIsTheTransactionInIt(method: VerificationMethod) async throws {
        let transaction = Signed.transaction("42", further: #","revocationDate":1700000000000"#)
        try await VerificationStage.with(method, hasKey: false) { stage in
            let direct = try await stage.judge(transaction)
            for payload in [
                Signed.notification(carrying: transaction), Signed.notification(carrying: transaction) + "\n",
            ] {
                let judgement = try await stage.judge(payload)
                #expect(judgement.signature == .valid)
                guard case .verified(let found) = judgement.verdict, case .verified(let other) = direct.verdict else {
                    return #expect(Bool(false))
                }
                #expect(found.environment == .production && found.bundleID == other.bundleID)
                #expect(found.transactions == other.transactions)
                #expect(found.transactions.first?.isInReceipt == true)
                #expect(found.transactions.first?.source == .local)
            }
            #expect(stage.server.received.count == 0)
        }
    }

    @Test func aNotificationLeadsToTheCustomersHistory() async throws {
        let own = Signed.transaction("42")
        let page = Signed.page([own, Signed.transaction("43")])
        try await VerificationStage.with(reply: { _ in (200, page) }) { stage in
            let judgement = try await stage.judge(Signed.notification(carrying: own))
            guard case .verified(let receipt) = judgement.verdict else { return #expect(Bool(false)) }
            #expect(receipt.transactions.map(\.transaction.id.text) == ["42", "43"])
            #expect(receipt.transactions.map(\.isInReceipt) == [true, false])
            #expect(receipt.transactions.map(\.source) == [.serverAPI, .serverAPI])
        }
    }

    @Test(arguments: [true, false])
    func aNotificationAboutNoPurchaseIsGenuineAndHoldsNothing(hasKey: Bool) async throws {
        try await VerificationStage.with(hasKey: hasKey) { stage in
            let judgement = try await stage.judge(Signed.notification("TEST"))
            #expect(judgement.signature == .valid)
            #expect(judgement.problem?.problem == .noTransactions)
            #expect(judgement.problem?.text.contains("about no purchase") == true)
            #expect(stage.server.received.count == 0)
        }
    }

    /// It is listed as another's, as a signed transaction would be.
    @Test func tellsAnotherAppsNotificationByItsTransaction() async throws {
        let transaction = Signed.transaction("42", bundleID: "com.example.other")
        try await VerificationStage.with { stage in
            let judgement = try await stage.judge(
                Signed.notification(
                    bundleID: "com.example.other", data: #","signedTransactionInfo":"\#(transaction)""#))
            guard case .verified(let receipt) = judgement.verdict else { return #expect(Bool(false)) }
            #expect(receipt.bundleID?.text == "com.example.other")
            #expect(receipt.transactions.map(\.transaction.id.text) == ["42"])
            #expect(stage.server.received.count == 0)
        }
    }

    // MARK: What names no purchase

    @Test(arguments: 0..<5) func leadsToAllOfTheCustomersPurchases(lead: Int) async throws {
        let (payload, asked) = Self.leads[lead]
        let environment = asked.hasPrefix("/sandbox") ? "Sandbox" : "Production"
        let page = Signed.page(["1", "2"].map { Signed.transaction($0, original: "42", environment: environment) })
        try await VerificationStage.with(reply: { _ in (200, page) }) { stage in
            let judgement = try await stage.judge(payload)
            #expect(judgement.signature == .valid)
            guard case .verified(let receipt) = judgement.verdict else { return #expect(Bool(false)) }
            #expect(receipt.environment == (environment == "Sandbox" ? .sandbox : .production))
            #expect(receipt.transactions.map(\.transaction.id.text) == ["1", "2"])
            #expect(receipt.transactions.allSatisfy { $0.source == .serverAPI && !$0.isInReceipt })
            #expect(stage.server.log.map(\.path) == [asked])
        }
    }

    @Test(arguments: 0..<5, [VerificationMethod.auto, .verifyReceipt, .local])
    func holdsNothingWithoutAKeyAndSaysWhatIsMissing(lead: Int, method: VerificationMethod) async throws {
        try await VerificationStage.with(method, hasKey: false) { stage in
            let judgement = try await stage.judge(Self.leads[lead].payload)
            #expect(judgement.signature == .valid)
            let (problem, text) = try #require(judgement.problem)
            #expect(problem == .needsKey)
            #expect(text.contains("names no purchase; with a key for the App Store Server API"))
            // As a genuine app receipt that holds nothing: some nights, and then it is listed.
            let outcomes = (0..<20).map {
                Patience.outcome(of: judgement.verdict, after: ReceiptTrouble(.needsKey, nights: $0))
            }
            #expect(outcomes.first == .tryAgain(.needsKey, text))
            #expect(outcomes.last == .unusable(.needsKey, text))
            #expect(stage.server.received.count == 0)
        }
    }

    @Test(arguments: [4_040_010, 4_040_005, 4_000_006])
    func holdsNothingWhereAppleDoesNotKnowTheCustomer(code: Int) async throws {
        try await VerificationStage.with(reply: { _ in (code / 10_000, #"{"errorCode":\#(code)}"#) }) { stage in
            let judgement = try await stage.judge(Signed.appTransaction())
            #expect(judgement.problem?.problem == .noTransactions)
            #expect(judgement.problem?.text.contains("does not know the customer") == true)
        }
    }

    /// As verifyReceipt's status 21010.
    @Test func saysThatTheAccountIsGone() async throws {
        try await VerificationStage.with(reply: { _ in (404, #"{"errorCode":4040001}"#) }) { stage in
            let judgement = try await stage.judge(Signed.appTransaction())
            #expect(judgement.problem?.problem == .accountGone)
            #expect(judgement.problem?.text.contains("4040001") == true)
        }
    }

    @Test func holdsNothingWhereTheCustomerBoughtNothing() async throws {
        let page = Signed.page([])
        try await VerificationStage.with(reply: { _ in (200, page) }) { stage in
            let judgement = try await stage.judge(Signed.appTransaction())
            #expect(ids(judgement) == [])
            let outcome = Patience.outcome(of: judgement.verdict, after: nil)
            #expect(outcome == .tryAgain(.noTransactions, "its list of purchases is empty"))
        }
    }

    @Test func asksAgainWhereAppleCannotAnswer() async throws {
        try await VerificationStage.with(reply: { _ in (503, "") }) { stage in
            let judgement = try await stage.judge(Signed.appTransaction())
            #expect(judgement.problem?.problem == .appleUnreachable)
        }
    }

    /// The app's key opens nothing of another's.
    @Test func asksNobodyAboutAnotherAppsCustomer() async throws {
        try await VerificationStage.with { stage in
            let judgement = try await stage.judge(Signed.appTransaction(bundleID: "com.example.other"))
            #expect(judgement.signature == .valid)
            #expect(ids(judgement) == [])
            #expect(stage.server.received.count == 0)
        }
    }

    @Test func leadsNowhereWithoutAnId() async throws {
        try await VerificationStage.with { stage in
            let judgement = try await stage.judge(Signed.appTransaction(nil))
            #expect(judgement.problem?.problem == .noTransactions)
            #expect(judgement.problem?.text.contains("neither a purchase nor a customer") == true)
            #expect(stage.server.received.count == 0)
        }
    }

    /// Whatever leads there: Apple is asked about a customer once a night.
    @Test func asksAboutACustomerOnce() async throws {
        let mine = #","inAppOwnershipType":"PURCHASED""#
        let page = Signed.page([Signed.transaction("42", further: mine), Signed.transaction("43", further: mine)])
        try await VerificationStage.with(reply: { _ in (200, page) }) { stage in
            let verifier = try #require(stage.services.verifiers(of: [stage.app], now: Date()).first)
            for payload in [
                Signed.appTransaction("704"), Signed.renewalInfo("42"), Signed.transaction("43"),
                Signed.notification(carrying: Signed.transaction("42")), Signed.appTransaction("704"),
            ] {
                let judgement = try await verifier.judge(payload, of: ["anna"])
                #expect(ids(judgement).map(Set.init) == ["42", "43"])
            }
            #expect(stage.server.received.count == 1)
        }
    }

    /// An account's id and a transaction's are of different number spaces, and a family member's purchase may name
    /// another account.
    @Test func asksAnewAboutAnotherCustomer() async throws {
        let shared = Signed.transaction("42", further: #","inAppOwnershipType":"FAMILY_SHARED""#)
        let page = Signed.page([shared])
        try await VerificationStage.with(reply: { _ in (200, page) }) { stage in
            let verifier = try #require(stage.services.verifiers(of: [stage.app], now: Date()).first)
            for payload in [
                Signed.transaction("42"), Signed.appTransaction("704"), Signed.appTransaction("42"),
                Signed.renewalInfo("704"),
            ] {
                _ = try await verifier.judge(payload, of: ["anna"])
            }
            #expect(stage.server.received.count == 4)
        }
    }

    /// As where a proxy mixes up answers.
    @Test func takesNobodyElsesHistory() async throws {
        let page = Signed.page([Signed.transaction("43"), Signed.transaction("44")])
        try await VerificationStage.with(reply: { _ in (200, page) }) { stage in
            let verifier = try #require(stage.services.verifiers(of: [stage.app], now: Date()).first)
            let proofs: [(payload: String, own: [String])] = [
                (Signed.transaction("42"), ["42"]), (Signed.renewalInfo("42"), []),
            ]
            for (payload, own) in proofs {
                let judgement = try await verifier.judge(payload, of: ["anna"])
                guard case .verified(let receipt) = judgement.verdict else { return #expect(Bool(false)) }
                #expect(receipt.transactions.map(\.transaction.id.text) == own)
                #expect(receipt.transactions.allSatisfy { $0.source == .local })
                #expect(receipt.unreadable == ["Apple answered with another customer's history than was asked for"])
            }
            // Apple may list what was restored under the id of its original alone.
            let restored = try await verifier.judge(Signed.transaction("45", original: "43"), of: ["anna"])
            #expect(ids(restored) == ["45", "43", "44"])
        }
    }

    // MARK: What Apple signed, and what nobody did

    /// It may be what a later program reads.
    @Test func neverTakesWhatAppleSignedForForgedOrMalformed() async throws {
        let now = Signed.now
        let signed = [
            Signed.transaction("42", environment: "Moon"), Signed.renewalInfo("42", environment: ""),
            Signed.appTransaction(environment: "Moon"), Signed.notification("NEW", environment: "Moon"),
            Signed.jws(#"{"notificationType":"NEW","signedDate":\#(now),"newData":{"bundleId":"x"}}"#),
            Signed.transaction("42", further: #","revocationDate":"soon""#), Signed.jws(#"{"signedDate":\#(now)}"#),
            Signed.transaction("42", bundleID: "com.example.ö"),
            Signed.notification(carrying: Signed.transaction("4 2")),
            // Of a day to come.
            Signed.jws(
                #"{"transactionId":"42","productId":"gems_100","bundleId":"\#(VerificationStage.bundleID)","#
                    + #""environment":"Production","signedDate":\#(now),"purchaseDate":\#(now + 864_000_000)}"#),
        ]
        for method in [VerificationMethod.auto, .local] {
            try await VerificationStage.with(method) { stage in
                for payload in signed {
                    let judgement = try await stage.judge(payload)
                    #expect(judgement.signature == .valid)
                    #expect(judgement.problem?.problem == .unreadableAnswer)
                    #expect(judgement.problem?.text.hasPrefix("Apple signed it, but ") == true)
                }
                #expect(stage.server.received.count == 0)
            }
        }
    }

    /// As of a kind that Apple may yet make.
    @Test func keepsAnAppReceiptThatAppleSignedAndThatCannotBeRead() async throws {
        let bought = SimulatedTransaction(id: "42", productID: "gems_100", purchasedAt: Date() - 3600)
        let receipt = SimulatedReceipt(
            bundleID: VerificationStage.bundleID, createdAt: Date(), transactions: [bought])
        let content = AppReceiptPayload.encode(receipt, adamID: 1)
            .replacing("Production".utf8, with: "Prepayment".utf8)
        let signed = SignedDataContainer.sign(content, with: TestKeys.usual.appReceipts, .sha256)
        try await VerificationStage.with(.local) { stage in
            let judgement = try await stage.judge(Data(signed).base64EncodedString())
            #expect(judgement.signature == .valid)
            #expect(judgement.problem?.problem == .unreadableAnswer)
            #expect(judgement.problem?.text == "Apple signed it, but it names an environment that is not known")
        }
    }

    @Test func takesNothingThatAppleDidNotSign() async throws {
        let forged = [
            String(Signed.appTransaction().dropLast(10)) + "AAAAAAAAAA",
            String(Signed.renewalInfo("42").dropLast(10)) + "AAAAAAAAAA",
            String(Signed.notification("TEST").dropLast(10)) + "AAAAAAAAAA",
            // Without a date no chain can be judged.
            Signed.jws(#"{"receiptType":"Production"}"#),
            // Anyone signs so.
            Signed.appTransaction(environment: "Xcode"), Signed.renewalInfo("42", environment: "LocalTesting"),
        ]
        try await VerificationStage.with { stage in
            for payload in forged {
                let judgement = try await stage.judge(payload)
                #expect(judgement.signature != .valid)
                #expect(judgement.problem?.problem == .notGenuine)
            }
            #expect(stage.server.received.count == 0)
        }
    }

    /// Apple's next root is as strange to this program as a forger's: the receipts are kept until it can be updated.
    @Test func keepsWhatAStrangerSigned() async throws {
        let keys = TestKeys.stranger
        let transaction = #"{"transactionId":"1","environment":"Production","signedDate":\#(Signed.now)}"#
        let forged = [
            Signed.jws(#"{"receiptType":"Production","receiptCreationDate":\#(Signed.now)}"#, by: keys),
            Signed.jws(transaction, by: keys),
            Signed.notification(carrying: Signed.jws(transaction, by: keys)),
        ]
        try await VerificationStage.with { stage in
            for payload in forged {
                let judgement = try await stage.judge(payload)
                #expect(judgement.signature == .untrusted)
                #expect(judgement.problem?.problem == .unknownSigner)
                #expect(judgement.problem?.text.contains("which is none of the trusted roots") == true)
            }
            #expect(stage.server.received.count == 0)
        }
    }

    @Test func asksAppleNothingAboutWhatXcodeMade() async throws {
        try await VerificationStage.with(allowsXcode: true) { stage in
            for payload in [
                Signed.appTransaction(environment: "Xcode"), Signed.renewalInfo("42", environment: "LocalTesting"),
            ] {
                let judgement = try await stage.judge(payload)
                #expect(judgement.problem?.problem == .noTransactions)
            }
            #expect(stage.server.received.count == 0)
        }
    }
}
