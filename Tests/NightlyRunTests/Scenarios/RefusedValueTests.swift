import AppStoreSimulator
import Foundation
import Job
import PostgreSQL
import Reconciliation
import TestSupport
import Testing
import Verification

/// What one payload says holds up no other, whatever PostgreSQL refuses of it.
@Suite struct RefusedValueTests {
    @Test(arguments: [true, false])
    func aBatchIsRecordedPayloadByPayloadWhereAValueIsRefused(isWhole: Bool) async throws {
        try await withPlay { play in
            var play = play
            if !isWhole { play.settings.batchSize = 1 }
            try await play.administer("ALTER TABLE iap.transactions ADD CHECK (product_id <> 'gems.refused')")
            let bought = [play.buy("1000000000000101"), play.buy("1000000000000102")]
            let refused = play.buy("1000000000000103", "gems.refused")
            for transaction in bought + [refused] {
                try await play.upload(play.receipt([transaction]), for: transaction)
            }
            #expect(try await play.night(isDryRun: true).report.receipts.verified == 2)

            let (report, findings) = try await play.night()
            #expect(report.receipts.verified == 2 && report.receipts.tryAgain == 1 && report.receipts.left == 0)
            #expect(findings.caseIDs == Set(bought.map(\.id)))
            #expect(findings.unverified.map(\.transactionID) == [refused.id])
            #expect(findings.unverified.first?.problem == .unreadableAnswer)
            #expect(findings.unverified.first?.detail.contains("23514") == true)
            #expect(
                try await play.count(
                    """
                    iap.receipts
                    WHERE state = 'waiting' AND attempts = 1 AND next_attempt_at > last_attempt_at
                        AND error_text LIKE '%23514%'
                    """) == 1)
            try await play.administer("ALTER TABLE iap.transactions DROP CONSTRAINT transactions_product_id_check")
            #expect(try await play.night(2).findings.caseIDs == Set((bought + [refused]).map(\.id)))
        }
    }

    /// What Apple tells by itself, by its history or handed on.
    @Test(arguments: [true, false])
    func aNoticeIsTakenWhereAValueOfAnotherIsRefused(isHandedOn: Bool) async throws {
        try await withPlay(isHandedOn ? .local : .auto, hasKey: !isHandedOn, notices: NoticeScenarioTests.allTaken) {
            play in
            let bought = (1...3).map { play.buy("200000000000320\($0)", hoursAgo: 30) }
            if isHandedOn {
                for payload in play.store.notifications(of: Play.bundleID) {
                    _ = try await play.server("SELECT iap.submit_notification(\(Play.bundleID), \(payload)) AS answer")
                }
            }
            try await play.administer("ALTER TABLE iap.notices ADD CHECK (transaction_id <> '2000000000003202')")
            let dry = try await play.night(isDryRun: true).report
            #expect(dry.outcome == .complete)
            #expect(try await play.count("iap.notices") == 0)
            for number in 1...2 {
                let (report, findings) = try await play.night(number)
                #expect(report.outcome == .complete)
                #expect(report.heard?.fresh ?? 0 == (number == 1 ? 2 : 0))
                #expect(findings.caseIDs.isSuperset(of: [bought[0].id, bought[2].id]))
                let kept = try #require(report.hearings.first?.notTaken)
                #expect(kept.map(\.notices) == [1] && kept.first?.problem.contains("23514") == true)
                #expect(kept.first?.heardBy == (isHandedOn ? .appServer : .history))
            }
            try await play.administer("ALTER TABLE iap.notices DROP CONSTRAINT notices_transaction_id_check1")
            #expect(try await play.night(3).findings.caseIDs == Set(bought.map(\.id)))
            #expect(try await play.count("iap.handed_notices") == 0)
        }
    }

    /// What of the same history can't be read is kept, too, for the next night.
    @Test func whatCannotBeReadIsKeptBesideAValueThatIsRefused() async throws {
        try await withPlay(hasKey: true, notices: NoticeScenarioTests.allTaken) { play in
            _ = play.buy("2000000000003204", hoursAgo: 30)
            let payloads = play.store.notifications(of: Play.bundleID) + ["e30.e30.AAAA"]
            let told = payloads.map { #"{"signedPayload":"\#($0)","sendAttempts":[]}"# }.joined(separator: ",")
            let history = #"{"notificationHistory":[\#(told)],"hasMore":false}"#
            try await play.administer("ALTER TABLE iap.notices ADD CHECK (transaction_id <> '2000000000003204')")
            try await TestServer.with({ request, connection in
                let isAsked = request.path.contains("notifications/history")
                return connection.respond(isAsked ? 200 : 404, body: Data(history.utf8))
            }) { server in
                var scripted = play
                scripted.settings.apple.serverAPIProduction = server.url
                let kept = try #require(try await scripted.night().report.hearings.first?.notTaken)
                #expect(kept.map(\.notices) == [1, 1] && kept.contains { $0.problem.contains("23514") })
            }
        }
    }

    /// What Apple answers when it is asked again about what was sold before.
    @Test func anAnswerIsTakenWhereAValueOfAnotherIsRefused() async throws {
        try await withPlay(hasKey: true) { play in
            var play = play
            play.settings.apps[0].reasking = Reasking(window: 90 * 86_400, interval: 7 * 86_400)
            let bought = [play.buy("2000000000003301"), play.buy("2000000000003302")]
            for transaction in bought {
                #expect(try await play.admit(transaction) == "white")
                #expect(try await play.claim(transaction) == "delivered")
            }
            try await play.administer(
                """
                ALTER TABLE iap.transactions
                ADD CHECK (source = 'app_server' OR transaction_id <> '2000000000003302')
                """)
            let report = try await play.night(2).report
            #expect(report.outcome == .complete && report.asked == AskingTotals(asked: 1, unanswered: 1))
            #expect(try await play.count("iap.black WHERE source = 'server_api'") == 1)
        }
    }

    /// As answers and signatures were seen to say.
    @Test(arguments: [
        #","revocationReason":0"#, #","price":9223372036854775807,"currency":"USD""#,
        #","price":-990,"currency":"USD""#,
        #","appAccountToken":"\#((0..<1_000).map { _ in UUID().uuidString }.joined())""#,
        #","storefront":"US\u0000""#,
    ])
    func noValueEndsANight(further: String) async throws {
        try await withPlay(.local) { play in
            let bought = (1...2).map { play.buy("100000000000011\($0)") }
            for transaction in bought {
                try await play.upload(play.receipt([transaction], style: .signedTransaction), for: transaction)
            }
            try await play.upload(Signed.transaction("1000000000000113", further: further))
            let (report, findings) = try await play.night()
            #expect(report.receipts.left == 0)
            #expect(findings.caseIDs.isSuperset(of: bought.map(\.id)))
            _ = try await play.night(2)
        }
    }

    /// An app's server mistook coins for a quantity, and a list price has zeros too many: no night may end by their sum.
    @Test func noListPriceEndsANight() async throws {
        try await withPlay { play in
            let bought = (1...2).map { number in
                play.buy("100000000000012\(number)", "gems.dear") { $0.quantity = 9000 }
            }
            try await play.administer(
                """
                INSERT INTO iap.products (bundle_id, product_id, type, name, list_price_milliunits, currency)
                VALUES (\(Play.bundleID), 'gems.dear', 'consumable', 'Gems', 1000000000000000, 'USD')
                """)
            for transaction in bought { try await play.admit(transaction) }
            let (report, findings) = try await play.night()
            #expect(findings.caseIDs == Set(bought.map(\.id)))
            #expect(report.cases.unpriced == 2 && report.cases.money == [])
        }
    }
}
