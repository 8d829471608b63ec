import AppStoreSimulator
import Foundation
import Job
import NightlyRun
import PostgreSQL
import Reconciliation
import Synchronization
import TestSupport
import Testing
import Verification

/// What Apple tells when it is asked again about what was sold before.
@Suite struct AskingScenarioTests {
    private static let day: TimeInterval = 86_400

    /// A play in which customers of ninety days are asked about every seven days.
    private func withReasking(hasKey: Bool = true, _ body: (inout Play) async throws -> Void) async throws {
        try await withPlay(hasKey: hasKey) { play in
            var play = play
            play.settings.apps[0].reasking = Reasking(window: 90 * Self.day, interval: 7 * Self.day)
            try await body(&play)
        }
    }

    /// Bought, uploaded and delivered; two nights later its receipt is settled.
    private func deliver(_ id: String, hoursAgo: Double = 30, _ play: Play) async throws -> SimulatedTransaction {
        let bought = play.buy(id, hoursAgo: hoursAgo)
        try await play.upload(play.receipt([bought]), for: bought)
        _ = try await play.night()
        #expect(try await play.claim(bought) == "delivered")
        _ = try await play.night(2)
        return bought
    }

    /// No notification told of it, and nobody uploads anything again.
    @Test func aRefundIsFoundByAsking() async throws {
        try await withReasking { play in
            let bought = try await deliver("2000000000000101", play)
            play.store.update { $0.refund(bought.id, Refund(at: play.began - 60, kind: .prorated(25_000))) }
            let early = try await play.night(3)
            #expect(early.report.asked.asked == 0)
            let report = try await play.night(8).report
            #expect(report.asked == AskingTotals(asked: 1))
            #expect(try await play.text("SELECT sum(amount) FROM finance.refunds") == "0.248")
            #expect(try await play.count("iap.receipts WHERE next_attempt_at IS NOT NULL") == 0)
            #expect(try await play.count("finance.unexplained") == 0)
        }
    }

    /// The account's other purchases were delivered to anna, so that it is likely hers.
    @Test func whatWasNeverSentIsFoundByAsking() async throws {
        try await withReasking { play in
            _ = try await deliver("2000000000000102", play)
            let untold = play.buy("2000000000000103", hoursAgo: 1)
            let (report, findings) = try await play.night(8)
            #expect(report.asked == AskingTotals(asked: 1, unknown: 1))
            #expect(findings.caseIDs == [untold.id])
            let found = try #require(findings.cases.first)
            #expect(found.assessment.reasons.contains(.onlyAppleTold))
            #expect(found.assessment.owner.user == "anna")
            #expect(found.assessment.candidates.first?.evidence == [.account])
            // What was handed in and what is known already is not handed in again.
            let next = try await play.night(15)
            #expect(next.report.asked == AskingTotals(asked: 1) && next.findings.caseIDs == [untold.id])
            #expect(try await play.count("iap.receipts") == 2)
        }
    }

    @Test func onlyWhatChangedIsReadTheSecondTime() async throws {
        try await withReasking { play in
            for number in 0..<25 { _ = play.buy("20000000000002\(10 + number)", hoursAgo: 40) }
            _ = try await deliver("2000000000000240", play)
            _ = try await play.night(8)
            let pages = play.store.counts.byServerAPIEndpoint[.history] ?? 0
            #expect(try await play.count("iap.customers WHERE revision IS NOT NULL") == 1)
            _ = try await play.night(15)
            // The receipt, of which twenty-five are still owed, is verified by two pages; one more tells what changed.
            #expect(play.store.counts.byServerAPIEndpoint[.history] == pages + 3)
        }
    }

    /// Apple may have forgotten a revision that it gave.
    @Test func aRevisionThatAppleRefusesIsAskedWithout() async throws {
        try await withReasking { play in
            let bought = try await deliver("2000000000000104", play)
            try await play.administer("UPDATE iap.customers SET revision = 'forgotten'")
            play.store.update { $0.refund(bought.id, Refund(at: play.began - 60)) }
            #expect(try await play.night(8).report.asked == AskingTotals(asked: 1))
            #expect(try await play.count("iap.black WHERE refunded_at IS NOT NULL") == 1)
            #expect(try await play.count("iap.customers WHERE revision = 'forgotten'") == 0)
        }
    }

    /// Half an hour after Apple's notification of a refund, an answer without it may be older, or newer.
    @Test func anAnswerThatDecidesNothingIsToldAgain() async throws {
        try await withReasking { play in
            let bought = try await deliver("2000000000000105", play)
            play.store.update { $0.refund(bought.id, Refund(at: play.began - 60)) }
            _ = try await play.night(8)
            #expect(try await play.count("iap.black WHERE refunded_at IS NOT NULL") == 1)
            play.store.update { $0.reverseRefund(of: bought.id) }
            try await play.administer(
                """
                INSERT INTO iap.notices (
                    transaction_id, bundle_id, environment, notice_uuid, type, signed_at, heard_at, heard_by)
                VALUES (
                    \(bought.id), \(Play.bundleID), 'Production', 'a refund', 'REFUND',
                    \(play.began + 14 * Self.day + 1800), \(play.began + 14 * Self.day + 1800), 'history')
                """)
            try await play.administer("UPDATE iap.customers SET revision = NULL")
            #expect(try await play.night(15).report.asked == AskingTotals(asked: 1))
            #expect(try await play.count("iap.black WHERE refunded_at IS NOT NULL") == 1)
            #expect(try await play.count("iap.customers WHERE revision IS NOT NULL") == 0)
            #expect(try await play.night(22).report.asked == AskingTotals(asked: 1))
            #expect(try await play.count("iap.black WHERE refunded_at IS NOT NULL") == 0)
            #expect(try await play.count("iap.customers WHERE revision IS NOT NULL") == 1)
        }
    }

    @Test func theBudgetTakesThoseFirstWhoWaitLongest() async throws {
        try await withReasking { play in
            play.settings.questionsANight = 1
            for (number, account) in ["anna", "berta", "carla"].enumerated() {
                let bought = play.buy("200000000000030\(number)", account: account, hoursAgo: 100 - Double(number))
                try await play.upload(play.receipt([bought], account: account), by: account, for: bought)
                #expect(try await play.admit(bought, for: account) == "white")
                #expect(try await play.claim(bought, for: account) == "delivered")
            }
            _ = try await play.night()
            for number in 8...10 { #expect(try await play.night(number).report.asked == AskingTotals(asked: 1)) }
            let asked = try await play.text("SELECT count(DISTINCT asked_at) FROM iap.customers")
            #expect(asked == "3")
            #expect(try await play.night(11).report.asked.asked == 0)
        }
    }

    /// Who subscribed for a year is not asked about each week of it, and not forgotten either: Apple renews it then, and
    /// nobody may tell of that.
    @Test func aSubscriberIsAskedAboutWhenALongPeriodExpires() async throws {
        try await withReasking { play in
            _ = try await deliver("2000000000000105", play)
            try await play.administer(
                "UPDATE iap.customers SET expires_at = \(play.began + 365 * Self.day), revision = NULL")
            for number in [8, 50, 85] { #expect(try await play.night(number).report.asked.asked == 1) }
            for number in [100, 200, 365] { #expect(try await play.night(number).report.asked.asked == 0) }
            #expect(try await play.night(367).report.asked == AskingTotals(asked: 1))
            #expect(try await play.night(374).report.asked == AskingTotals(asked: 1))
            _ = try await play.night(460)
            #expect(try await play.count("iap.customers") == 0)
        }
    }

    @Test func whoWasNotSeenForLongIsForgotten() async throws {
        try await withReasking { play in
            _ = try await deliver("2000000000000105", play)
            #expect(try await play.count("iap.customers") == 1)
            #expect(try await play.night(100).report.asked.asked == 0)
            #expect(try await play.count("iap.customers") == 0)
        }
    }

    /// The renewal reached nobody: it is asked for an hour after the period ended, and not a week later.
    @Test func aSubscriberIsAskedAboutSoonAfterTheExpiry() async throws {
        try await withReasking { play in
            let first = play.buy("2000000000000106", "vip.month", hoursAgo: 40) {
                $0.productType = .autoRenewable
                $0.expiresAt = play.began + 3 * Self.day
            }
            try await play.upload(play.receipt([first]), for: first)
            _ = try await play.night()
            #expect(try await play.claim(first) == "delivered")
            _ = try await play.night(2)
            let renewal = play.buy("2000000000000107", "vip.month", hoursAgo: 1) {
                $0.productType = .autoRenewable
                $0.originalID = first.id
                $0.expiresAt = play.began + 33 * Self.day
            }
            #expect(try await play.night(3).report.asked.asked == 0)
            let (report, findings) = try await play.night(5)
            #expect(report.asked == AskingTotals(asked: 1, unknown: 1))
            #expect(findings.caseIDs == [renewal.id])
        }
    }

    /// Where the app has no key, a receipt is how Apple is asked.
    @Test func withoutAKeyTheNewestReceiptIsVerifiedAgain() async throws {
        try await withReasking(hasKey: false) { play in
            let bought = try await deliver("2000000000000108", play)
            #expect(try await play.count("iap.receipts WHERE state = 'settled'") == 1)
            play.store.update { $0.refund(bought.id, Refund(at: play.began - 60)) }
            #expect(try await play.night(3).report.asked.asked == 0)
            let report = try await play.night(10).report
            #expect(report.asked.asked == 1 && report.receipts.verified == 1)
            #expect(try await play.count("iap.black WHERE refunded_at IS NOT NULL") == 1)
            // And it is settled again.
            #expect(try await play.count("iap.receipts WHERE state = 'settled'") == 1)
        }
    }

    /// Else nobody would be asked about any more, without a word.
    @Test func withoutAKeyAReceiptIsVerifiedAgainBeforeItsPayloadGoes() async throws {
        try await withReasking(hasKey: false) { play in
            play.settings.retention = Retention(payloads: 4 * Self.day)
            let bought = try await deliver("2000000000000122", play)
            for number in 3...9 { _ = try await play.night(number) }
            play.store.update { $0.refund(bought.id, Refund(at: play.began - 60)) }
            for number in 10...14 { _ = try await play.night(number) }
            #expect(try await play.count("iap.receipts WHERE payload IS NOT NULL") == 1)
            #expect(try await play.count("iap.black WHERE refunded_at IS NOT NULL") == 1)
        }
    }

    /// It may be one of a purchase since, or be no use any more.
    @Test(arguments: [SimulatedReceipt.Style.signedTransaction, .appReceipt])
    func withoutAKeyANewerReceiptThatTellsNothingHidesNone(style: SimulatedReceipt.Style) async throws {
        try await withReasking(hasKey: false) { play in
            let bought = try await deliver("2000000000000120", play)
            let later = play.buy("2000000000000121", hoursAgo: 20)
            try await play.upload(play.receipt([later], style: style), for: later)
            _ = try await play.night(3)
            #expect(try await play.claim(later) == "delivered")
            _ = try await play.night(4)
            #expect(try await play.count("iap.receipts WHERE state = 'settled'") == 2)
            if style == .appReceipt {
                try await play.administer(
                    """
                    UPDATE iap.receipts
                    SET state = 'unusable', error_code = 'account_gone', error_text = 'gone', last_attempt_at = verified_at
                    WHERE transaction_id = \(later.id)
                    """)
            }
            play.store.update { $0.refund(bought.id, Refund(at: play.began - 60)) }
            #expect(try await play.night(12).report.asked.asked == 1)
            #expect(try await play.count("iap.black WHERE refunded_at IS NOT NULL") == 1)
        }
    }

    /// Also if it was verified lately, but before the period expired.
    @Test func withoutAKeyASubscribersReceiptIsVerifiedAgainAfterTheExpiry() async throws {
        try await withReasking(hasKey: false) { play in
            let first = SimulatedTransaction(
                id: "2000000000000116", productID: "vip.month", purchasedAt: play.began - 40 * 3600,
                expiresAt: play.began + 3 * Self.day)
            let renewal = SimulatedTransaction(
                id: "2000000000000117", originalID: first.id, productID: "vip.month",
                purchasedAt: play.began - 3600, expiresAt: play.began + 33 * Self.day)
            play.store.update { $0.add(Subscription(periods: [first], renews: false)) }
            try await play.upload(play.receipt([first]), for: first)
            _ = try await play.night()
            #expect(try await play.claim(first) == "delivered")
            _ = try await play.night(2)
            #expect(try await play.count("iap.receipts WHERE state = 'settled'") == 1)
            play.store.update { $0.add(Subscription(periods: [first, renewal], renews: false)) }
            _ = try await play.night(3)
            #expect(try await play.count("iap.white") == 0)
            #expect(try await play.night(5).findings.caseIDs == [renewal.id])
        }
    }

    // MARK: Delivered, and never paid

    /// Apple is not asked of it: nobody paid in sandbox. Nor did anybody if its receipt came.
    @Test(arguments: [false, true])
    func whatWasAdmittedAsATestersAndDeliveredIsNamed(isUploaded: Bool) async throws {
        try await withReasking { play in
            let tested = SimulatedTransaction(
                id: "2000000000000118", productID: "gems.60", purchasedAt: play.began - 3600)
            if isUploaded { try await play.upload(play.receipt([tested], environment: .sandbox), for: tested) }
            _ = try await play.server(
                """
                SELECT iap.admit(
                    \(Play.bundleID), 'Sandbox', '2000000000000118', '2000000000000118', 'gems.60', 1,
                    \(play.began - 3600), 'anna') AS answer
                """)
            #expect(try await play.claim(tested) == "delivered")
            let named = try await play.night().findings.suspicions
            #expect(named.map(\.kind) == [.deliveredUnproved] && named.first?.subject.environment == .sandbox)
            #expect(named.first?.detail.hasPrefix("it was a tester's purchase, in sandbox") == true)
        }
    }

    private func deliverUnseen(_ transaction: SimulatedTransaction, _ play: Play) async throws {
        #expect(try await play.admit(transaction) == "white")
        #expect(try await play.claim(transaction) == "delivered")
    }

    @Test func aDeliveryThatAppleKnowsIsProved() async throws {
        try await withReasking { play in
            try await deliverUnseen(play.buy("2000000000000109", hoursAgo: 30), play)
            let early = try await play.night()
            #expect(early.report.asked.asked == 0)
            #expect(try await play.night(3).report.asked == AskingTotals(asked: 1))
            #expect(try await play.count("iap.black WHERE source = 'server_api'") == 1)
            let (report, findings) = try await play.night(4)
            #expect(report.asked.asked == 0 && findings.suspicions.isEmpty)
            #expect(try await play.count("finance.delivered_unproved") == 0)
        }
    }

    /// A night that is tried again when Apple is back leaves what an undisturbed one leaves.
    @Test func whatAppleWasDownForIsAskedWhenItIsBackTheSameNight() async throws {
        try await withReasking { play in
            try await deliverUnseen(play.buy("2000000000000119", hoursAgo: 30), play)
            _ = try await play.night()
            var down = play
            // Nobody listens there.
            down.settings.apple.serverAPIProduction = "http://127.0.0.1:1"
            down.settings.apple.attempts = 1
            #expect(try await down.night(3).report.asked.asked == 0)
            #expect(try await play.count("iap.delivery_checks") == 0)
            #expect(try await play.night(3).report.asked == AskingTotals(asked: 1))
            #expect(try await play.count("iap.black WHERE source = 'server_api'") == 1)
        }
    }

    @Test func aForgedDeliveryIsNamed() async throws {
        try await withReasking { play in
            let madeUp = SimulatedTransaction(
                id: "9999999999999999", productID: "gems.60", purchasedAt: play.began - 3600)
            try await deliverUnseen(madeUp, play)
            _ = try await play.night()
            let (report, findings) = try await play.night(3)
            #expect(report.asked == AskingTotals(asked: 1))
            #expect(findings.suspicions.map(\.kind) == [.deliveredUnproved])
            #expect(findings.suspicions.first?.userIDs == ["anna"])
            #expect(findings.suspicions.first?.detail == "Apple knows no such purchase")
            #expect(
                try await play.text("SELECT why || ' ' || units FROM finance.delivered_unproved")
                    == "unknown_to_apple 1")
            // Apple may learn of a purchase late: it is asked some more times, and then no more.
            for number in 4...7 { #expect(try await play.night(number).report.asked == AskingTotals(asked: 1)) }
            // By then the customer is due, whom nobody knows either.
            #expect(try await play.night(8).report.asked == AskingTotals(asked: 1))
            #expect(try await play.night(9).report.asked.asked == 0)
            #expect(try await play.count("finance.delivered_unproved") == 1)
        }
    }

    /// Apple's production did not know it for days.
    @Test func aDeliveryThatAppleComesToKnowIsNoFindingAnyMore() async throws {
        try await withReasking { play in
            let late = SimulatedTransaction(
                id: "2000000000000110", productID: "gems.60", purchasedAt: play.began - 3600)
            try await deliverUnseen(late, play)
            #expect(try await play.night(3).findings.suspicions.map(\.kind) == [.deliveredUnproved])
            _ = play.buy(late.id, hoursAgo: 1)
            #expect(try await play.night(4).findings.suspicions.isEmpty)
            #expect(try await play.count("finance.delivered_unproved") == 0)
        }
    }

    @Test func aTestersPurchaseThatWasDeliveredIsNamed() async throws {
        try await withReasking { play in
            let tested = SimulatedTransaction(
                id: "2000000000000111", productID: "gems.60", purchasedAt: play.began - 3600)
            play.store.update {
                $0.add(
                    StoredPurchase(tested, bundleID: Play.bundleID, environment: .sandbox, account: "tester"))
            }
            try await deliverUnseen(tested, play)
            let findings = try await play.night(3).findings
            #expect(findings.suspicions.map(\.detail) == ["it was a tester's purchase, in sandbox"])
            #expect(try await play.count("iap.black WHERE environment = 'Production'") == 1)
        }
    }

    @Test func anotherProductThanWasDeliveredIsNamed() async throws {
        try await withReasking { play in
            _ = play.buy("2000000000000112", "gems.60", hoursAgo: 30)
            let claimed = SimulatedTransaction(
                id: "2000000000000112", productID: "gems.300", purchasedAt: play.began - 30 * 3600)
            try await deliverUnseen(claimed, play)
            let findings = try await play.night(3).findings
            #expect(
                findings.suspicions.map(\.detail)
                    == ["Apple sold another product than was delivered; booked at 0.99 USD"])
            #expect(try await play.text("SELECT product_id FROM finance.delivered_unproved") == "gems.60")
            #expect(try await play.count("finance.unexplained") == 0)
        }
    }

    /// More than was paid, or less than is owed.
    @Test func anotherQuantityThanWasDeliveredIsNamed() async throws {
        try await withReasking { play in
            _ = play.buy("2000000000000115", "gems.60", hoursAgo: 30) { $0.quantity = 3 }
            let claimed = SimulatedTransaction(
                id: "2000000000000115", productID: "gems.60", purchasedAt: play.began - 30 * 3600)
            try await deliverUnseen(claimed, play)
            let findings = try await play.night(3).findings
            #expect(
                findings.suspicions.map(\.detail)
                    == ["Apple sold another quantity than was delivered; booked at 2.97 USD"])
            #expect(try await play.count("finance.delivered_unproved WHERE units = 3") == 1)
            #expect(try await play.count("finance.unexplained") == 0)
        }
    }

    @Test func whatWasRefundedBeforeTheDeliveryIsNamed() async throws {
        try await withReasking { play in
            let bought = play.buy("2000000000000113", hoursAgo: 30)
            play.store.update { $0.refund(bought.id, Refund(at: play.began - 7200)) }
            try await deliverUnseen(bought, play)
            let findings = try await play.night(3).findings
            #expect(
                findings.suspicions.map(\.detail)
                    == ["it was refunded before it was delivered; booked at 0.99 USD"])
        }
    }

    @Test func whatAnotherUserPaidForIsNamed() async throws {
        try await withReasking { play in
            let token = "7e3fb204-2b6c-4f7e-8d0a-0c1d2e3f4a5c"
            _ = try await play.server("SELECT iap.register_user(\(Play.bundleID), 'berta', \(token)) AS answer")
            try await deliverUnseen(
                play.buy("2000000000000114", account: "berta", hoursAgo: 30) { $0.appAccountToken = token }, play)
            let findings = try await play.night(3).findings
            #expect(findings.suspicions.map(\.detail) == ["delivered to anna, likely bought by berta"])
            #expect(try await play.count("finance.delivered_unproved WHERE why = 'another_user'") == 1)
        }
    }

    // MARK: Disturbances

    /// Apple's answer for the first of two deliveries can never be used; the budget is one question a night.
    @Test func whoIsNeverAnsweredKeepsNobodyFromBeingAskedAbout() async throws {
        try await withReasking { play in
            play.settings.questionsANight = 1
            play.settings.apps[0].reasking = nil
            let unusable = String(repeating: "x", count: 300)
            for (id, product) in [("2000000000000118", unusable), ("2000000000000119", "gems.60")] {
                _ = play.buy(id, product, hoursAgo: 30)
                let claimed = SimulatedTransaction(
                    id: id, productID: "gems.60", purchasedAt: play.began - 30 * 3600)
                try await deliverUnseen(claimed, play)
            }
            #expect(try await play.night(3).report.asked == AskingTotals(unanswered: 1))
            #expect(try await play.night(4).report.asked == AskingTotals(asked: 1))
            #expect(try await play.count("iap.black WHERE source = 'server_api'") == 1)
            let (report, findings) = try await play.night(5)
            #expect(report.asked == AskingTotals(unanswered: 1) && findings.suspicions.isEmpty)
            #expect(try await play.count("finance.delivered_unproved") == 0)
        }
    }

    /// A proxy before Apple fails for one of three purchases. Where it fails for all, none of them is put off.
    @Test func whatAppleIsNotReachedForKeepsNothingElseFromBeingAskedAbout() async throws {
        try await withReasking { play in
            let madeUp = ["9999999999999991", "9999999999999992", "9999999999999993"]
            for id in madeUp {
                try await deliverUnseen(
                    SimulatedTransaction(id: id, productID: "gems.60", purchasedAt: play.began - 3600), play)
            }
            let isDown = Mutex(true)
            let words: Mutex<[String]> = Mutex([])
            try await TestServer.with({ request, connection in
                isDown.withLock { $0 } || request.path.contains(madeUp[0])
                    ? connection.respond(503)
                    : connection.respond(404, body: Data(#"{"errorCode":4040010,"errorMessage":"Not found."}"#.utf8))
            }) { server in
                var scripted = play
                scripted.settings.apple.serverAPIProduction = server.url
                scripted.settings.apple.serverAPISandbox = server.url
                scripted.settings.apple.attempts = 1
                scripted.settings.questionsANight = 2
                _ = try await scripted.night(2)
                #expect(try await play.count("iap.delivery_checks") == 0)
                isDown.withLock { $0 = false }
                let second = try await scripted.night(3) { entry in
                    if let why = entry.fields["error"] { words.withLock { $0.append(why) } }
                }
                #expect(second.report.asked == AskingTotals(asked: 1, unanswered: 1))
                scripted.settings.questionsANight = 1
                #expect(try await scripted.night(4).report.asked == AskingTotals(asked: 1))
            }
            #expect(words.withLock { $0 }.contains { $0.contains("503") })
        }
    }

    @Test func aDryRunAsksAndWritesNothing() async throws {
        try await withReasking { play in
            let bought = try await deliver("2000000000000115", play)
            _ = play.buy("2000000000000116", hoursAgo: 1)
            play.store.update { $0.refund(bought.id, Refund(at: play.began - 60)) }
            let before = try await play.text("SELECT string_agg(c::text, ' ') FROM iap.customers AS c")
            var findings = Collector()
            let job = NightlyJob(settings: play.settings, programVersion: "test", log: { _ in }, progress: { _ in })
            let report = try await job.run(
                RunOptions(isDryRun: true, now: play.began + 8 * Self.day), stop: StopSignal(), findings: &findings)
            #expect(report.asked == AskingTotals(asked: 1, unknown: 1))
            #expect(try await play.text("SELECT string_agg(c::text, ' ') FROM iap.customers AS c") == before)
            #expect(try await play.count("iap.black WHERE refunded_at IS NOT NULL") == 0)
            #expect(try await play.count("iap.receipts") == 1)
        }
    }

    /// What another session holds is asked about again the night after.
    @Test func whatIsLockedIsAskedAboutAgain() async throws {
        try await withReasking { play in
            let bought = try await deliver("2000000000000117", play)
            play.store.update { $0.refund(bought.id, Refund(at: play.began - 60)) }
            play.settings.patience = 1
            let holder = try await play.database.connect()
            defer { holder.close() }
            try await holder.execute("BEGIN")
            _ = try await holder.query("SELECT FROM iap.transactions FOR UPDATE")
            let held = try await play.night(8)
            #expect(held.report.asked.locked.map(\.text) == [bought.id])
            try await holder.execute("ROLLBACK")
            _ = try await play.night(9)
            #expect(try await play.count("iap.black WHERE refunded_at IS NOT NULL") == 1)
        }
    }

    /// Prices need no list of countries.
    @Test func anUnusualPriceIsNamed() async throws {
        try await withReasking { play in
            for number in 10..<22 {
                let usual = play.buy("20000000000004\(number)", account: "buyer \(number)", hoursAgo: 30)
                try await play.upload(
                    play.receipt([usual], style: .signedTransaction, account: "buyer \(number)"),
                    by: "buyer \(number)", for: usual)
            }
            let cheap = play.buy("2000000000000499", account: "thief", hoursAgo: 30) { transaction in
                transaction.price = SimulatedTransaction.Price(milliunits: 120, currency: "USD")
            }
            try await play.upload(
                play.receipt([cheap], style: .signedTransaction, account: "thief"), by: "thief", for: cheap)
            let findings = try await play.night().findings
            let named = findings.suspicions.filter { $0.kind == .unusualPrice }
            #expect(named.map(\.subject.transactionID) == [cheap.id])
            #expect(named.first?.detail == "paid at 0.12 USD, where 0.99 USD is usual in USA")
        }
    }
}
