import AppStoreSimulator
import Foundation
import Job
import NightlyRun
import PostgreSQL
import Reconciliation
import TestSupport
import Testing
import Verification

/// What was bought once is owed once, under whatever id it is restored: nights, dry ones too, that meet the ids in any
/// order.
@Suite struct RestoredScenarioTests {
    @Test(arguments: [true, false])
    func whatIsRefundedIsOwedUnderNoId(isToldBefore: Bool) async throws {
        try await withPlay { play in
            let (original, restored) = try await play.buyOnce()
            play.store.update { $0.refund(original.id, Refund(at: play.began - 3600)) }
            try await play.upload(play.receipt([original]), for: original)
            if isToldBefore { #expect(try await play.night(1).findings.cases.isEmpty) }
            try await play.upload(play.receipt([restored]), for: restored)
            for isDryRun in [true, false] {
                let night = try await play.night(2, isDryRun: isDryRun)
                #expect(night.findings.cases.isEmpty)
                #expect(night.report.totals.imbalances == [])
            }
            #expect(try await play.count("iap.excluded WHERE reason = 'restored'") == 1)
            #expect(try await play.claim(restored) == "excluded")
        }
    }

    /// Apple's rows of both ids held the refund; it tells of one of them that it took that back.
    @Test func whatAppleTookBackUnderOneIDIsOwedAtOnce() async throws {
        try await withPlay(hasKey: true, notices: NoticeScenarioTests.allTaken) { play in
            let (original, restored) = try await play.buyOnce()
            play.store.update { records in
                for one in [original, restored] { records.refund(one.id, Refund(at: play.began - 72 * 3600)) }
            }
            for one in [original, restored] { try await play.upload(play.receipt([one]), for: one) }
            #expect(try await play.night().findings.cases.isEmpty)
            #expect(try await play.count("iap.receipts WHERE state <> 'settled'") == 0)
            play.store.update { records in
                records.refund(original.id, Refund(at: play.began - 72 * 3600, reversedAt: play.began - 60))
                records.reverseRefund(of: restored.id)
            }
            let night = try await play.night(2)
            #expect(night.findings.caseIDs == [original.id])
            #expect(night.report.totals.imbalances == [])
        }
    }

    /// Nobody asks Apple again: the app has no key, and its server hands on what Apple tells of one of the ids.
    @Test func whatTheServerHandsOnOfOneIDCountsForTheOther() async throws {
        try await withPlay(.local, notices: NoticeScenarioTests.allTaken) { play in
            let (original, restored) = try await play.buyOnce()
            play.store.update { records in
                for one in [original, restored] { records.refund(one.id, Refund(at: play.began - 72 * 3600)) }
            }
            // What the client keeps of it.
            for signed in play.store.notifications(of: Play.bundleID).suffix(2) { try await play.upload(signed) }
            #expect(try await play.night().findings.cases.isEmpty)
            #expect(try await play.count("iap.excluded WHERE refunded_at IS NOT NULL") == 2)
            play.store.update { records in
                records.refund(original.id, Refund(at: play.began - 72 * 3600, reversedAt: play.began - 60))
                records.reverseRefund(of: restored.id)
            }
            let told = try #require(play.store.notifications(of: Play.bundleID).last)
            _ = try await play.server("SELECT iap.submit_notification(\(Play.bundleID), \(told)) AS answer")
            for isDryRun in [true, false] {
                let night = try await play.night(2, isDryRun: isDryRun)
                #expect(night.findings.caseIDs == [original.id])
                #expect(night.report.totals.imbalances == [])
            }
            #expect(try await play.claim(original) == "delivered")
            #expect(try await violations(play.database) == [])
        }
    }

    /// What another session holds stays white beside the delivery, until a night.
    @Test func whatIsDeliveredUnderAnotherIDIsNoLostOrder() async throws {
        try await withPlay { play in
            let (original, restored) = try await play.buyOnce()
            try await play.admit(original)
            try await play.admit(restored)
            let other = try await play.database.connect(as: "iap_app")
            defer { other.close() }
            try await other.execute("BEGIN")
            _ = try await other.query(
                """
                SELECT iap.admit(
                    \(Play.bundleID), 'Production', \(restored.id), \(original.id), 'noads', 1,
                    \(restored.purchasedAt), 'anna')
                """)
            #expect(try await play.claim(original) == "delivered")
            try await other.execute("COMMIT")
            #expect(try await play.count("iap.white") == 1)
            for isDryRun in [true, false] {
                let night = try await play.night(isDryRun: isDryRun)
                #expect(night.findings.cases.isEmpty)
                #expect(night.report.totals.imbalances == [])
                #expect(night.report.totals.closingWhite.transactions == 0)
            }
            #expect(try await play.claim(restored) == "already_delivered")
        }
    }

    /// A child got it before Apple told that a family shares it; whose purchase it is has it still to come, each night,
    /// whether their receipt comes with the child's or after it.
    @Test(arguments: [1, 2])
    func whatAFamilySharesIsOwedToWhoPaid(from first: Int) async throws {
        try await withPlay { play in
            let (paid, shared) = try await play.buyOnce(account: "bob") { $0.isFamilyShared = true }
            try await play.admit(shared, for: "bob")
            #expect(try await play.claim(shared, for: "bob") == "delivered")
            try await play.upload(play.receipt([shared], account: "bob"), by: "bob", for: shared)
            for night in 1...3 {
                if night >= first {
                    try await play.upload(play.receipt([paid], madeHoursAgo: 1 / Double(night)), for: paid)
                }
                _ = try await play.night(night)
            }
            #expect(try await play.night(4).findings.toldIDs == [paid.id])
            #expect(try await play.claim(paid) == "delivered")
            #expect(try await violations(play.database) == [])
        }
    }

    /// One batch holds both, and the purchase only as it was restored.
    @Test func whatAFamilySharesStandsForNoPurchase() async throws {
        try await withPlay { play in
            let (paid, shared) = try await play.buyOnce(account: "bob") { $0.isFamilyShared = true }
            let restored = play.buy("1000000000002803", "noads", hoursAgo: 170) {
                $0.originalID = paid.id
                $0.productType = .nonConsumable
            }
            try await play.upload(play.receipt([shared], account: "bob"), by: "bob", for: shared)
            try await play.upload(play.receipt([restored]), for: restored)
            _ = try await play.night(1)
            #expect(try await play.count("iap.excluded WHERE reason = 'restored'") == 0)
            #expect(try await play.claim(restored) == "delivered")
        }
    }
}

extension Play {
    /// A non-consumable, and the same purchase as it is restored under another id.
    fileprivate func buyOnce(
        account: String = "anna", _ change: (inout SimulatedTransaction) -> Void = { _ in }
    ) async throws -> (original: SimulatedTransaction, restored: SimulatedTransaction) {
        try await administer(
            """
            INSERT INTO iap.products (bundle_id, product_id, type, name)
            VALUES ('com.example.game', 'noads', 'non_consumable', 'No ads')
            """)
        let original = buy("1000000000002801", "noads", hoursAgo: 200) { $0.productType = .nonConsumable }
        let restored = buy("1000000000002802", "noads", account: account, hoursAgo: 180) {
            $0.originalID = original.id
            $0.productType = .nonConsumable
            change(&$0)
        }
        return (original, restored)
    }
}
