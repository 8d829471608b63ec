import Foundation
import Reconciliation
import TestSupport
import Testing
import Verification

@testable import AppStoreSimulator

/// What Apple told an app's server of itself, as the night asks for it and as the server hands it on.
@Suite struct NoticeTests {
    private let start = Date(timeIntervalSince1970: 1_700_000_000)
    private let end = Date(timeIntervalSince1970: 1_700_086_400)

    private static func page(_ items: [String], next: String? = nil) -> VerificationStage.Reply {
        let token = next.map { #","paginationToken":"\#($0)""# } ?? ""
        return (200, #"{"hasMore":\#(next != nil)\#(token),"notificationHistory":[\#(items.joined(separator: ","))]}"#)
    }

    private static func item(_ signed: String) -> String {
        """
        {"signedPayload":"\(signed)","sendAttempts":[{"attemptDate":1700000000000,"sendAttemptResult":"TIMED_OUT"},
        {"attemptDate":1700003600000,"sendAttemptResult":"SUCCESS"}]}
        """
    }

    private static func error(_ code: Int) -> VerificationStage.Reply {
        (code / 10_000, #"{"errorCode":\#(code),"errorMessage":"Apple's words."}"#)
    }

    private func page(_ stage: VerificationStage, token: String? = nil) async throws -> NoticeHistory.Outcome {
        let history = try #require(stage.services.noticeHistory(of: stage.app))
        return try await history.page(from: start, to: end, token: token, in: .production)
    }

    @Test func readsWhatAppleSent() async throws {
        let transaction = Signed.transaction("42", further: #","revocationType":"REFUND_FULL""#)
        let carried = #","signedTransactionInfo":"\#(transaction)","consumptionRequestReason":"LEGAL""#
        let items = [
            Self.item(Signed.notification("CONSUMPTION_REQUEST", data: carried)),
            Self.item(Signed.notification("TEST", uuid: "u-2")), Self.item(Signed.jws("{}", by: .stranger)),
        ]
        try await VerificationStage.with(reply: { request in
            request.path.hasSuffix("?paginationToken=t") ? Self.page([]) : Self.page(items, next: "t")
        }) { stage in
            guard case .page(let page) = try await page(stage) else { return #expect(Bool(false)) }
            #expect(page.hasMore && page.next == "t")
            #expect(page.notices.map(\.uuid) == ["u-1", "u-2"])
            #expect(page.notices.map(\.type) == ["CONSUMPTION_REQUEST", "TEST"])
            #expect(page.notices.map(\.consumptionReason) == ["LEGAL", nil])
            #expect(page.notices.map(\.signedTransaction) == [transaction, nil])
            #expect(page.notices.map { $0.transactionSignedAt != nil } == [true, false])
            let notice = try #require(page.notices.first)
            #expect(notice.environment == .production && notice.bundleID.text == VerificationStage.bundleID)
            #expect(notice.transaction?.transaction.id.text == "42")
            #expect(notice.transaction?.transaction.revocationType == "REFUND_FULL")
            #expect(notice.transaction?.transaction.appTransactionID == "704")
            #expect(notice.transaction?.source == .local)
            #expect(notice.attempts.map(\.result) == ["TIMED_OUT", "SUCCESS"])
            #expect(notice.attempts.first?.date == start)
            #expect(page.unreadable.count == 1)
            #expect(page.unreadable.first?.contains("notificationHistory[2]") == true)
            guard case .page(let last) = try await self.page(stage, token: "t") else { return #expect(Bool(false)) }
            #expect(!last.hasMore && last.notices.isEmpty)
        }
    }

    /// Apple does not say whether what it signs with a reversal still holds the refund that was.
    @Test(arguments: [("REFUND_REVERSED", false), ("REFUND", true), ("REFUND_DECLINED", true)])
    func aReversalIsNoRefund(type: String, isRefunded: Bool) async throws {
        let refunded = #","revocationDate":1700000000000,"revocationReason":1,"revocationType":"REFUND_FULL""#
        let signed = Signed.transaction("42", further: refunded)
        try await VerificationStage.with { stage in
            let told = Signed.notification(type, data: #","signedTransactionInfo":"\#(signed)""#)
            let notice = try stage.services.notice(handedOn: told, for: stage.app).get()
            let transaction = try #require(notice.transaction?.transaction)
            #expect((transaction.refundedAt != nil) == isRefunded)
            #expect((transaction.refundReason != nil) == isRefunded)
            #expect((transaction.revocationType != nil) == isRefunded)
        }
    }

    /// It hears by whatever its receipts are verified.
    @Test(arguments: VerificationMethod.allCases, [true, false])
    func hearsWhereTheAppHasAKey(method: VerificationMethod, hasKey: Bool) async throws {
        try await VerificationStage.with(method, hasKey: hasKey, reply: { _ in Self.page([]) }) { stage in
            #expect((stage.services.noticeHistory(of: stage.app) != nil) == hasKey)
            // And yet only a method that asks the App Store Server API is stopped by a key that it refuses.
            try await stage.services.checkAccess()
            let asks = hasKey && (method == .auto || method == .serverAPI)
            #expect(stage.server.received.count == (asks ? 1 : 0))
        }
    }

    /// One that the ledger could not keep is refused by itself, and holds up no other.
    @Test func refusesAUUIDThatIsNone() async throws {
        try await VerificationStage.with { stage in
            for (length, isTaken) in [(64, true), (65, false)] {
                let told = Signed.notification(
                    uuid: String(repeating: "u", count: length),
                    data: #","signedTransactionInfo":"\#(Signed.transaction("1"))""#)
                let notice = try? stage.services.notice(handedOn: told, for: stage.app).get()
                #expect((notice != nil) == isTaken)
            }
        }
    }

    /// Apple signed the notification around it, so that a newer program may read it.
    @Test func keepsANotificationWhoseTransactionItCannotRead() async throws {
        let other = Signed.transaction("42", bundleID: "com.example.other")
        for (carried, isFinal) in [("of tomorrow", false), ("e30.e30.e30", false), (other, true)] {
            let told = Signed.notification(data: #","signedTransactionInfo":"\#(carried)""#)
            try await VerificationStage.with { stage in
                guard case .failure(let flaw) = stage.services.notice(handedOn: told, for: stage.app) else {
                    return #expect(Bool(false))
                }
                #expect(flaw.isFinal == isFinal, "\(flaw)")
            }
        }
    }

    @Test(arguments: [4_000_006, 4_000_014, 4_000_017])
    func tellsARefusedPageTokenApart(code: Int) async throws {
        try await VerificationStage.with(reply: { _ in Self.error(code) }) { stage in
            guard case .pageTokenRefused = try await page(stage, token: "old") else { return #expect(Bool(false)) }
        }
    }

    @Test func tellsTroublesApart() async throws {
        try await VerificationStage.with(reply: { _ in Self.error(4_000_012) }) { stage in
            guard case .problem(let text) = try await page(stage) else { return #expect(Bool(false)) }
            #expect(text.contains("4000012") && text.contains("too far in the past"))
        }
        try await VerificationStage.with(reply: { _ in (401, "Unauthenticated") }) { stage in
            guard case .needsConfiguration(let text) = try await page(stage) else { return #expect(Bool(false)) }
            #expect(text.contains(APIKey.keyID))
        }
        // The same token again would be asked for for ever; what came with it is Apple's word.
        let items = [Self.item(Signed.notification(carrying: Signed.transaction("42")))]
        try await VerificationStage.with(reply: { _ in Self.page(items, next: "t") }) { stage in
            guard case .page(let page) = try await page(stage, token: "t") else { return #expect(Bool(false)) }
            #expect(page.isCutOff && !page.hasMore && page.notices.count == 1)
        }
    }

    /// As of a kind that Apple may yet bring in. It holds up no window, for it is Apple's.
    @Test func keepsWhatAppleSignedAndDoesNotSayForWhom() async throws {
        let unheard = [
            #""newData":{"bundleId":"\#(VerificationStage.bundleID)","environment":"Production"}"#,
            #""data":{"bundleId":"\#(VerificationStage.bundleID)","environment":"Moon"}"#,
            #""data":{"environment":"Production"}"#,
        ].map {
            Signed.jws(#"{"notificationType":"NEW","notificationUUID":"u-1","signedDate":\#(Signed.now),\#($0)}"#)
        }
        let others = [Signed.notification(bundleID: "com.example.other"), Signed.notification(environment: "Sandbox")]
        let items = (unheard + others).map(Self.item)
        try await VerificationStage.with(reply: { _ in Self.page(items) }) { stage in
            guard case .page(let page) = try await page(stage) else { return #expect(Bool(false)) }
            #expect(page.notices.isEmpty && page.unreadable.count == 5)
            #expect(page.unusable.map(\.payload) == unheard)
            #expect(page.unusable.allSatisfy { !$0.flaw.isFinal })
        }
    }

    /// Hears all that the simulated App Store has to tell.
    @Test func readsTheSimulatedHistoryToItsEnd() async throws {
        let app = SimulatedApp(bundleID: VerificationStage.bundleID, seed: 7)
        let store = SimulatedAppStore(seed: 7, records: StoreRecords(apps: [app]))
        let addresses = try store.start()
        defer { store.stop() }
        let now = Date()
        let ids = (0..<45).map { "10000000000000\($0 + 10)" }
        for (number, id) in ids.enumerated() {
            let bought = SimulatedTransaction(
                id: id, productID: "gems.60", purchasedAt: now - 86_400 + Double(number))
            let purchase = StoredPurchase(bought, bundleID: VerificationStage.bundleID, account: "anna")
            store.update { $0.add(purchase) }
        }
        try await VerificationStage.with { stage in
            var heard: [String] = []
            var token: String?
            let services = try stage.services(at: addresses)
            let history = try #require(services.noticeHistory(of: stage.app))
            repeat {
                let outcome = try await history.page(from: now - 2 * 86_400, to: now, token: token, in: .production)
                guard case .page(let page) = outcome else { return #expect(Bool(false), "\(outcome)") }
                #expect(page.unreadable == [])
                heard += page.notices.compactMap { $0.transaction?.transaction.id.text }
                token = page.next
            } while token != nil
            #expect(heard == ids)
        }
    }

    // MARK: What an app's server hands on

    @Test func takesWhatTheAppsServerHandsOn() async throws {
        let transaction = Signed.transaction("42")
        let signed = Signed.notification(carrying: transaction)
        try await VerificationStage.with(hasKey: false) { stage in
            for payload in [signed, " \(signed)\n", #"{"signedPayload":"\#(signed)"}"#] {
                let notice = try stage.services.notice(handedOn: payload, for: stage.app).get()
                #expect(notice.uuid == "u-1" && notice.type == "ONE_TIME_CHARGE" && notice.attempts == [])
                #expect(notice.transaction?.transaction.id.text == "42")
                #expect(notice.signedTransaction == transaction)
            }
            let sandbox = Signed.notification(
                carrying: Signed.transaction("43", environment: "Sandbox"), environment: "Sandbox")
            #expect(try stage.services.notice(handedOn: sandbox, for: stage.app).get().environment == .sandbox)
        }
    }

    @Test func refusesWhatAppleDidNotSendToThisApp() async throws {
        let transaction = Signed.transaction("42")
        let refused: [(payload: String, words: String)] = [
            (String(Signed.notification().dropLast(10)) + "AAAAAAAAAA", "signature"),
            (Signed.jws(#"{"notificationType":"T"}"#, by: .stranger), "when it was signed"),
            (Signed.notification(bundleID: "com.example.other"), "com.example.other"),
            (Signed.notification(environment: "Xcode"), "Xcode"), (transaction, "environment"),
            (Signed.notification(carrying: transaction, environment: "Sandbox"), "different environments"),
            (Signed.notification(uuid: ""), "lacks its UUID"),
            (Signed.notification(carrying: Signed.transaction("")), "transactionId is missing"),
            ("", "no signed notification"), ("7", "no signed notification"), ("{}", "no signed notification"),
        ]
        try await VerificationStage.with { stage in
            for (payload, words) in refused {
                guard case .failure(let flaw) = stage.services.notice(handedOn: payload, for: stage.app) else {
                    #expect(Bool(false), "\(words)")
                    continue
                }
                #expect(flaw.text.contains(words), "\(flaw.text)")
            }
        }
    }

    @Test func comparesTheAppsNumberInTheStore() async throws {
        try await VerificationStage.with(appAppleID: 1234) { stage in
            let other = Signed.notification(data: #","appAppleId":4321"#)
            guard case .failure(let flaw) = stage.services.notice(handedOn: other, for: stage.app) else {
                return #expect(Bool(false))
            }
            #expect(flaw.text.contains("4321"))
            let own = Signed.notification(data: #","appAppleId":1234"#)
            _ = try stage.services.notice(handedOn: own, for: stage.app).get()
        }
    }
}
