import AppStoreSimulator
import Foundation
import Job
import PostgreSQL
import Reconciliation
import Testing
import Verification

/// What only looks like a lost order: no case, and a line in the list where it belongs.
@Suite struct SilentScenarioTests {
    /// Nothing says since when or how it delivers: what it does connects it.
    private func unconnected(_ app: App) -> App {
        App(bundleID: app.bundleID, environment: .production, grace: app.grace, since: nil, delivery: [:])
    }

    @Test func s06AnUnreadableUploadIsListedAndNeverDropped() async throws {
        try await withPlay { play in
            let device = #"{"model": "iPhone15,2"}"#
            try await play.upload("", by: "anna", device: device)
            try await play.upload("bm90IGEgcmVjZWlwdA==", by: "ben", device: device)
            let findings = try await play.night().findings
            #expect(findings.cases.isEmpty)
            let problems = Dictionary(
                uniqueKeysWithValues: findings.unusable.map { ($0.userID ?? "", $0.problem) })
            #expect(problems == ["anna": .empty, "ben": .malformed])
            #expect(findings.unusable.allSatisfy { $0.device?.contains("iPhone15,2") == true && !$0.detail.isEmpty })
            #expect(try await play.count("iap.receipts") == 2)
        }
    }

    /// However long it waited until it could be tried at last: that night is the first chance to tell of it.
    @Test func s06WhatIsGivenUpLateIsListedForThirtyDaysFromThen() async throws {
        try await withPlay { play in
            try await play.upload("", by: "anna")
            for (night, listed) in [(40, 1), (41, 1), (69, 1), (72, 0)] {
                let findings = try await play.night(night).findings
                #expect(findings.unusable.map(\.problem) == Array(repeating: .empty, count: listed), "night \(night)")
            }
        }
    }

    @Test func s07AnEmptyReceiptIsListed() async throws {
        try await withPlay { play in
            try await play.upload(play.receipt([]))
            let (report, findings) = try await play.night()
            // Apple has answered: nothing was in the way of the night.
            #expect(report.outcome == .complete && report.receipts.tryAgain == 1)
            #expect(findings.cases.isEmpty)
            #expect(findings.unusable.map(\.problem) == [.noTransactions])
        }
    }

    @Test func s13DeliveredAndNeverFinishedIsNoCase() async throws {
        try await withPlay { play in
            let served = play.buy("1000000000001301")
            try await play.admit(served)
            #expect(try await play.claim(served) == "delivered")
            let later = play.buy("1000000000001302", hoursAgo: 190)
            try await play.upload(play.receipt([served, later]), for: later)
            try await play.admit(later)
            try await play.claim(later)
            for night in 1...2 {
                let (report, findings) = try await play.night(night)
                #expect(findings.cases.isEmpty)
                #expect(report.totals.newlyWhite.transactions == 0)
            }
            #expect(try await play.count("iap.black") == 2)
        }
    }

    @Test func s15AnotherAppsReceiptIsSuspicious() async throws {
        try await withPlay { play in
            let foreign = SimulatedTransaction(
                id: "1000000000001501", productID: "coins.100", purchasedAt: play.began - 90_000)
            try await play.upload(play.receipt([foreign], bundleID: Play.foreignBundleID), for: foreign)
            let findings = try await play.night().findings
            #expect(findings.cases.isEmpty)
            #expect(findings.suspicions.map(\.kind) == [.foreignBundle])
            #expect(try await play.count("iap.excluded WHERE reason = 'foreign_bundle'") == 1)
        }
    }

    /// Nothing of it is owed, and a customer may well ask for it.
    @Test func aQuantityBelowOneIsSuspicious() async throws {
        try await withPlay { play in
            let none = play.buy("1000000000001504") { $0.quantity = 0 }
            try await play.upload(play.receipt([none]), for: none)
            let findings = try await play.night().findings
            #expect(findings.cases.isEmpty)
            #expect(findings.suspicions.map(\.kind) == [.invalidQuantity])
            #expect(findings.suspicions.map(\.detail) == ["Apple tells a quantity of 0"])
            #expect(findings.suspicions.map(\.userIDs) == [["anna"]])
        }
    }

    /// The receipt proves it to be genuine, so that Apple is not asked about the delivery.
    @Test func s15AnotherAppsPurchaseThatWasDeliveredIsNamed() async throws {
        try await withPlay { play in
            let foreign = SimulatedTransaction(
                id: "1000000000001502", productID: "gems.60", purchasedAt: play.began - 90_000)
            try await play.upload(play.receipt([foreign], bundleID: Play.foreignBundleID), for: foreign)
            #expect(try await play.admit(foreign) == "white")
            #expect(try await play.claim(foreign) == "delivered")
            let findings = try await play.night().findings
            #expect(findings.suspicions.map(\.kind) == [.deliveredUnproved])
            #expect(findings.suspicions.map(\.detail) == ["it was bought in another app"])
        }
    }

    @Test func s15AnUnknownProductIsACaseOfLowLikelihood() async throws {
        try await withPlay { play in
            try await play.administer(
                """
                INSERT INTO iap.products (bundle_id, product_id, type, name)
                VALUES ('com.example.game', 'gems.60', 'consumable', '60 gems')
                """)
            let odd = play.buy("1000000000001502", "gems.999999")
            try await play.upload(play.receipt([odd]), for: odd)
            let findings = try await play.night().findings
            #expect(findings.cases.map(\.assessment.likelihood) == [.low])
            #expect(findings.cases.first?.assessment.reasons.contains(.unknownProduct) == true)
            #expect(findings.suspicions.map(\.kind) == [.unknownProduct])
        }
    }

    /// Nobody knows that it is bought once. Whoever delivered it by hand would deliver it twice.
    @Test func s15WhatMayBeDeliveredUnderAnotherIDIsLookedInto() async throws {
        try await withPlay { play in
            let bought = SimulatedTransaction(
                id: "1000000000001503", productID: "ads.gone", purchasedAt: play.began - 180_000)
            #expect(try await play.admit(bought) == "white")
            #expect(try await play.claim(bought) == "delivered")
            let restored = SimulatedTransaction(
                id: "1000000000001504", originalID: bought.id, productID: "ads.gone", purchasedAt: play.began - 90_000)
            #expect(try await play.admit(restored) == "white")
            #expect(try await play.claim(restored) == "undecided")
            let findings = try await play.night().findings
            #expect(findings.caseIDs == [restored.id])
            #expect(findings.cases.map(\.assessment.likelihood) == [.low])
            #expect(findings.cases.map(\.assessment.action) == [.investigate])
            #expect(findings.suspicions.map(\.kind) == [.unknownProduct])
        }
    }

    @Test func s17RefundedBeforeItWasClaimed() async throws {
        try await withPlay { play in
            let refunded = play.buy("1000000000001701")
            play.store.update { $0.refund(refunded.id, Refund(at: play.began - 3600)) }
            try await play.upload(play.receipt([refunded]), for: refunded)
            #expect(try await play.night().findings.cases.isEmpty)
            #expect(try await play.count("iap.excluded WHERE reason = 'refunded'") == 1)
        }
    }

    @Test func s17RefundedAfterItWasDelivered() async throws {
        try await withPlay { play in
            let refunded = play.buy("1000000000001702")
            try await play.admit(refunded)
            try await play.claim(refunded)
            play.store.update { $0.refund(refunded.id, Refund(at: play.began - 3600)) }
            try await play.upload(play.receipt([refunded]), for: refunded)
            #expect(try await play.night().findings.cases.isEmpty)
            #expect(try await play.count("finance.refunds_after_delivery") == 1)
        }
    }

    @Test func s18ARestoredNonConsumableIsDeliveredOnce() async throws {
        try await withPlay { play in
            let original = play.buy("1000000000001801", "noads") { $0.productType = .nonConsumable }
            try await play.administer(
                """
                INSERT INTO iap.products (bundle_id, product_id, type, name)
                VALUES ('com.example.game', 'noads', 'non_consumable', 'No ads')
                """)
            try await play.admit(original)
            #expect(try await play.claim(original) == "delivered")
            let restored = play.buy("1000000000001802", "noads", hoursAgo: 180) {
                $0.originalID = original.id
                $0.productType = .nonConsumable
            }
            try await play.upload(play.receipt([restored]), for: restored)
            #expect(try await play.night().findings.cases.isEmpty)
            #expect(try await play.count("iap.excluded WHERE reason = 'restored'") == 1)
        }
    }

    /// The app's server admits one id for one user, and another for another: nothing says who of them bought it.
    @Test func s18WhatWasAdmittedForTwoIsNobodysUntilTheDeskSays() async throws {
        try await withPlay(.verifyReceipt) { play in
            let original = play.buy("1000000000001808", "noads") { $0.productType = .nonConsumable }
            try await play.administer(
                """
                INSERT INTO iap.products (bundle_id, product_id, type, name)
                VALUES ('com.example.game', 'noads', 'non_consumable', 'No ads')
                """)
            let restored = play.buy("1000000000001809", "noads", hoursAgo: 180) {
                $0.originalID = original.id
                $0.productType = .nonConsumable
            }
            // So that the app is known to deliver such.
            let other = play.buy("1000000000001810", "noads", account: "carl", hoursAgo: 300) {
                $0.productType = .nonConsumable
            }
            try await play.admit(other, for: "carl")
            #expect(try await play.claim(other, for: "carl") == "delivered")
            try await play.admit(original)
            try await play.admit(restored, for: "ben")
            for isDryRun in [true, false] {
                let cases = try await play.night(isDryRun: isDryRun).findings.cases
                #expect(cases.map(\.key.id.text) == [original.id])
                #expect(cases.first?.assessment.owner == .ambiguous(["anna", "ben"]))
            }
            #expect(try await play.claim(original) == "undecided")
        }
    }

    /// Nobody said what type the product is of: no consumable has another's id as its original, and no subscription is
    /// without an expiry.
    @Test func s18WhatIsRestoredIsDeliveredOnceWhereNobodyKnowsItsType() async throws {
        try await withPlay(.verifyReceipt) { play in
            let original = play.buy("1000000000001803", "noads") { $0.productType = .nonConsumable }
            try await play.upload(play.receipt([original]), for: original)
            try await play.admit(original)
            #expect(try await play.claim(original) == "delivered")
            #expect(try await play.night(1).findings.cases.isEmpty)
            let restored = play.buy("1000000000001804", "noads", hoursAgo: 100) {
                $0.originalID = original.id
                $0.productType = .nonConsumable
            }
            let consumable = play.buy("1000000000001805", hoursAgo: 90)
            try await play.upload(play.receipt([restored, consumable]), for: restored)
            #expect(try await play.night(2).findings.caseIDs == [consumable.id])
            #expect(try await play.count("iap.excluded WHERE reason = 'restored'") == 1)
            #expect(try await play.claim(restored) == "already_delivered")
        }
    }

    @Test func s18OfTwoIdsThatWaitTheOriginalStandsWhereNobodyKnowsItsType() async throws {
        try await withPlay(.verifyReceipt) { play in
            let original = play.buy("1000000000001806", "noads") { $0.productType = .nonConsumable }
            let restored = play.buy("1000000000001807", "noads", hoursAgo: 100) {
                $0.originalID = original.id
                $0.productType = .nonConsumable
            }
            try await play.upload(play.receipt([restored, original]), for: original)
            for night in 1...2 { #expect(try await play.night(night).findings.caseIDs == [original.id]) }
        }
    }

    /// Bought before the records begin, and dated anew by the restore, once with a new id and once without.
    @Test(arguments: ["non_consumable", nil])
    func whatWasBoughtBeforeTheStartStaysSilentWhenItIsRestored(type: String?) async throws {
        try await withPlay(.verifyReceipt) { play in
            var play = play
            let app = play.settings.apps[0].app
            play.settings.apps[0].app = App(
                bundleID: app.bundleID, environment: .production, grace: app.grace, since: play.began - 30 * 86_400)
            if let type {
                try await play.administer(
                    """
                    INSERT INTO iap.products (bundle_id, product_id, type, name)
                    VALUES ('com.example.game', 'noads', \(type), 'No ads'), ('com.example.game', 'skins', \(type), 'Skins')
                    """)
            }
            let restored = play.buy("1000000000001808", "noads") {
                $0.originalID = "1000000000001500"
                $0.originalPurchasedAt = play.began - 600 * 86_400
            }
            let kept = play.buy("1000000000001600", "skins") { $0.originalPurchasedAt = play.began - 500 * 86_400 }
            try await play.upload(play.receipt([restored, kept]))
            for night in 1...2 {
                let (report, findings) = try await play.night(night)
                #expect(findings.cases.isEmpty)
                // Nor is it asked about again each night.
                #expect(report.receipts.due == (night == 1 ? 1 : 0))
            }
            #expect(try await play.count("iap.excluded WHERE reason = 'before_start'") == 2)
        }
    }

    /// The list said then that it is consumed, and what its row holds is what the list said.
    @Test(arguments: [false, true])
    func whatWasBoughtBeforeTheStartStaysSilentWhereTheListIsMended(isPurged: Bool) async throws {
        try await withPlay(.verifyReceipt) { play in
            var play = play
            let app = play.settings.apps[0].app
            func begin(_ since: Date) {
                play.settings.apps[0].app = App(
                    bundleID: app.bundleID, environment: .production, grace: app.grace, since: since)
            }
            try await play.administer(
                """
                INSERT INTO iap.products (bundle_id, product_id, type, name)
                VALUES ('com.example.game', 'noads', 'consumable', 'No ads')
                """)
            let restored = play.buy("1000000000001818", "noads") {
                $0.originalID = "1000000000001518"
                $0.originalPurchasedAt = play.began - 600 * 86_400
            }
            try await play.upload(play.receipt([restored]))
            begin(play.began)
            #expect(try await play.night(1).findings.cases.isEmpty)
            #expect(try await play.count("iap.excluded WHERE reason = 'before_start'") == 1)
            try await play.administer("UPDATE iap.products SET type = 'non_consumable' WHERE product_id = 'noads'")
            if isPurged {
                try await play.administer("UPDATE iap.receipts SET payload = NULL, payload_purged_at = now()")
            }
            begin(play.began - 30 * 86_400)
            for night in 2...3 {
                let (report, findings) = try await play.night(night)
                #expect(findings.cases.isEmpty && report.receipts.due == 0)
            }
            #expect(try await play.count("iap.excluded WHERE reason = 'before_start'") == 1)
        }
    }

    /// Without a start, what is judged begins when the app is connected.
    @Test func whatWasBoughtBeforeTheAppIsConnectedStaysSilentWhenItIsRestored() async throws {
        try await withPlay(.verifyReceipt) { play in
            var play = play
            play.settings.apps[0].app = unconnected(play.settings.apps[0].app)
            try await play.administer(
                """
                INSERT INTO iap.products (bundle_id, product_id, type, name)
                VALUES ('com.example.game', 'noads', 'non_consumable', 'No ads')
                """)
            try await play.administer(
                """
                INSERT INTO iap.connections (bundle_id, environment, product_type, connected_at)
                VALUES ('com.example.game', 'Production', 'non_consumable', now() - interval '30 days')
                """)
            let restored = play.buy("1000000000001809", "noads") {
                $0.originalID = "1000000000001500"
                $0.originalPurchasedAt = play.began - 600 * 86_400
            }
            let bought = play.buy("1000000000001810", "noads")
            try await play.upload(play.receipt([restored, bought]))
            let (report, findings) = try await play.night()
            #expect(findings.caseIDs == [bought.id])
            #expect(report.unjudged.map(\.cause) == [.beforeConnected])
        }
    }

    /// As a case does, so that a purchase costs the same whether it is looked at or not.
    @Test func whatIsNotLookedAtCountsAtTodaysListPriceIfNoneWasBooked() async throws {
        try await withPlay { play in
            var play = play
            play.settings.apps[0].app = unconnected(play.settings.apps[0].app)
            try await play.administer("UPDATE iap.products SET list_price_milliunits = NULL, currency = NULL")
            for (id, product) in [("1000000000001812", "gems.60"), ("1000000000001813", "noads")] {
                #expect(try await play.admit(play.buy(id, product) { $0.price = nil }) == "white")
            }
            let first = try await play.night().report.unjudged
            #expect(first.flatMap(\.money).isEmpty)
            #expect(first.map(\.unpriced).reduce(0, +) == 2)
            try await play.administer(
                """
                INSERT INTO iap.products (bundle_id, product_id, type, name, list_price_milliunits, currency)
                VALUES (\(Play.bundleID), 'gems.60', 'consumable', 'Gems', 990, 'USD')
                ON CONFLICT (bundle_id, product_id) DO UPDATE
                    SET list_price_milliunits = EXCLUDED.list_price_milliunits, currency = EXCLUDED.currency
                """)
            let second = try await play.night(2).report.unjudged
            #expect(second.flatMap(\.money).map(\.milliunits) == [990])
            #expect(second.map(\.unpriced).reduce(0, +) == 1)
        }
    }

    /// A tester's purchases are delivered by the new code, while the old one still delivers those of customers.
    @Test func whatATesterClaimsConnectsNobody() async throws {
        try await withPlay { play in
            var play = play
            play.settings.apps[0].app = unconnected(play.settings.apps[0].app)
            play.settings.apps[0].app.redelivery = .high
            try await play.upload(play.receipt([play.buy("1000000000001811")]))
            try await play.administer(
                """
                SELECT
                    iap.admit(\(Play.bundleID), 'Sandbox', id, id, 'gems.60', 1, \(play.began), 'tester'),
                    iap.claim(\(Play.bundleID), id, 'tester')
                FROM (VALUES ('2000000000000001'), ('2000000000000002')) AS bought (id)
                """)
            try await play.administer(
                """
                SELECT
                    iap.admit(\(Play.bundleID), 'Sandbox', '21', '21', 'pass', 1, \(play.began), 'tester'),
                    iap.entitle(\(Play.bundleID), '21', 'tester', 'infinity')
                """)
            let (report, findings) = try await play.night()
            #expect(findings.caseIDs == [])
            #expect(report.unjudged.map(\.cause) == [.notConnected])
            #expect(report.unjudged.map(\.transactions) == [1])
            #expect(try await play.count("iap.redeliveries") == 0)
        }
    }

    /// A tester who never claims has lost nothing.
    @Test func whatATesterIsOwedIsNoCase() async throws {
        try await withPlay { play in
            try await play.administer(
                """
                SELECT iap.admit(
                    \(Play.bundleID), 'Sandbox', '2000000000000001', '2000000000000001', 'gems.60', 1,
                    \(play.began - 50 * 3600), 'tester')
                """)
            let (report, findings) = try await play.night()
            #expect(findings.caseIDs == [])
            #expect(report.unjudged.isEmpty && report.pending == 0)
            var rehearsal = play
            let app = play.settings.apps[0].app
            rehearsal.settings.apps[0].app = App(
                bundleID: app.bundleID, environment: .sandbox, grace: app.grace, since: app.since)
            #expect(try await rehearsal.night(2).findings.caseIDs == ["2000000000000001"])
        }
    }

    @Test func s23TwoServersClaimWhileANightRecords() async throws {
        try await withPlay { play in
            let bought = (0..<20).map { play.buy("10000000000230\($0 < 10 ? "0" : "")\($0)") }
            for transaction in bought {
                try await play.upload(play.receipt([transaction]), for: transaction)
                try await play.admit(transaction)
            }
            let outcomes = try await withThrowingTaskGroup(of: String.self) { tasks in
                for transaction in bought {
                    for _ in 1...2 { tasks.addTask { try await play.claim(transaction) } }
                }
                tasks.addTask {
                    _ = try await play.night()
                    return "night"
                }
                return try await tasks.reduce(into: [:]) { $0[$1, default: 0] += 1 }
            }
            #expect(outcomes == ["delivered": 20, "already_delivered": 20, "night": 1])
            #expect(try await play.count("iap.white") == 0)
            #expect(try await play.count("iap.black") == 20)
            #expect(try await play.night(2).findings.cases.isEmpty)
        }
    }

    @Test func s26AFamilyMemberPaid() async throws {
        try await withPlay { play in
            let shared = play.buy("1000000000002601", "noads") {
                $0.productType = .nonConsumable
                $0.isFamilyShared = true
            }
            try await play.upload(play.receipt([shared]), for: shared)
            #expect(try await play.night().findings.cases.isEmpty)
            #expect(try await play.count("iap.excluded WHERE reason = 'family_shared'") == 1)
        }
    }

    /// The family's organizer stops to share it before any night has seen it.
    @Test func s26WhatAFamilySharedNoMoreIsNoRefund() async throws {
        try await withPlay { play in
            let shared = play.buy("1000000000002602", "noads") {
                $0.productType = .nonConsumable
                $0.isFamilyShared = true
            }
            play.store.update { $0.refund(shared.id, Refund(at: play.began - 600)) }
            try await play.upload(play.receipt([shared]), for: shared)
            #expect(try await play.night().findings.cases.isEmpty)
            #expect(try await play.count("iap.excluded WHERE reason = 'family_shared'") == 1)
            #expect(try await play.count("finance.refunds") == 0)
        }
    }

    /// The app's server delivered it before Apple told who had paid.
    @Test func s26WhatWasDeliveredAndIsSharedHolds() async throws {
        try await withPlay { play in
            let shared = play.buy("1000000000002603", "noads") {
                $0.productType = .nonConsumable
                $0.isFamilyShared = true
            }
            try await play.admit(shared)
            #expect(try await play.claim(shared) == "delivered")
            try await play.upload(play.receipt([shared]), for: shared)
            _ = try await play.night()
            #expect(try await play.count("iap.transactions WHERE place = 'black' AND is_family_shared") == 1)
            #expect(try await violations(play.database) == [])
        }
    }

    @Test func s27AClaimAfterSupportDeliveredIsRefused() async throws {
        try await withPlay { play in
            let lost = play.buy("1000000000002701")
            try await play.upload(play.receipt([lost]), for: lost)
            #expect(try await play.night(1).findings.cases.count == 1)
            let resolved: SQL = """
                DO $$ BEGIN
                    PERFORM iap.resolve('1000000000002701', 'delivered', 'support@example.com', 'sent by hand');
                END $$
                """
            try await play.administer(resolved)
            #expect(try await play.claim(lost) == "already_delivered")
            #expect(try await play.night(2).findings.cases.isEmpty)
            #expect(try await play.count("iap.black WHERE delivered_by = 'resolved'") == 1)
        }
    }
}
