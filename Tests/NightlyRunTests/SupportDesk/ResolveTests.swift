import AppStoreSimulator
import Foundation
import Job
import PostgreSQL
import Reconciliation
import Testing

/// Decisions of the support desk, with the nights that follow: each night's control totals must balance.
@Suite struct ResolveTests {
    @Test(
        arguments: [
            (.delivered(), .delivered), (.dismissed, .dismissed), (.refunded, .refunded),
        ] as [(Resolution.Decision, CaseEnd)])
    func aWrongDecisionIsTakenBack(decision: Resolution.Decision, end: CaseEnd) async throws {
        try await withPlay { play in
            let gems = play.buy("1000000001")
            try await play.upload(play.receipt([gems]), for: gems)
            #expect(try await play.night(1).report.cases.total == 1)
            let before = try await play.check(gems.id).transactions.first
            #expect(try await play.decide(decision, gems) == .done)
            let decided = try await play.check(gems.id).transactions.first
            #expect(decided?.lostOrder?.closing?.how == end)
            #expect(decided?.lostOrder?.closing?.who == "sue")
            #expect(try await play.night(2).report.cases.total == 0)

            #expect(try await play.decide(.reopened, gems) == .done)
            let decisions: Set = ["claimed", "resolved", "reopened"]
            let after = try await play.check(gems.id).transactions.first
            #expect(after?.isOwed == true && before?.isOwed == true)
            #expect(after?.price == before?.price && after?.sightings == before?.sightings)
            #expect(after?.lostOrder == before?.lostOrder)
            #expect(after?.events.map(\.kind).filter(decisions.contains) == ["resolved", "reopened"])
            let third = try await play.night(3)
            #expect(third.findings.cases.map(\.key.id.text) == [gems.id])
            #expect(third.findings.cases.first?.isReopened == true)
            #expect(third.report.cases.reopened == 1)
            #expect(third.report.totals.new.transactions == 1)
            #expect(third.report.totals.closingWhite.transactions == 1)
            #expect(try await play.claim(gems) == "delivered")
            #expect(try await play.decide(.reopened, gems) == .unchanged(.alreadyDelivered))
            #expect(try await play.night(4).report.cases.total == 0)
        }
    }

    @Test func whatIsReopenedIsAskedAgainSoThatARefundIsNoticed() async throws {
        try await withPlay { play in
            let gems = play.buy("1000000002")
            try await play.upload(play.receipt([gems]), for: gems)
            _ = try await play.night(1)
            try await play.decide(.delivered(), gems)
            _ = try await play.night(2)
            #expect(try await play.count("iap.receipts WHERE state = 'settled'") == 1)
            try await play.decide(.reopened, gems)
            play.store.update { $0.refund(gems.id, Refund(at: play.began)) }
            let third = try await play.night(3)
            #expect(third.report.cases.total == 0)
            #expect(third.report.totals.refunded.transactions == 1)
            #expect(try await play.decide(.reopened, gems) == .unchanged(.refunded))
        }
    }

    /// Its receipt is due at once, however long ago it was tried: it is put off by nobody.
    @Test func whatIsReopenedAfterWeeksHoldsTogether() async throws {
        try await withPlay { play in
            let gems = play.buy("1000000008")
            try await play.upload(play.receipt([gems]), for: gems)
            _ = try await play.night(1)
            try await play.decide(.delivered(), gems)
            _ = try await play.night(2)
            try await play.administer(
                """
                UPDATE iap.receipts
                SET submitted_at = earlier, last_attempt_at = earlier,
                    seal = audit.receipt_seal(
                        bucket, receipt_id, bundle_id, user_id, payload_sha256, order_id, transaction_id, earlier, state,
                        is_erased)
                FROM (SELECT now() - interval '30 days' AS earlier) AS before
                """)
            #expect(try await violations(play.database) == [])
            #expect(try await play.decide(.reopened, gems) == .done)
            #expect(try await violations(play.database) == [])
        }
    }

    @Test func supportSaysToWhom() async throws {
        try await withPlay { play in
            let gems = play.buy("1000000003")
            try await play.admit(gems)
            // Nobody has ever heard of bob.
            let bob = Resolution.Recipient(userID: "bob", isUnknown: true)
            try await play.decide(.delivered(to: bob, orderID: "o-1"), gems)
            guard case .delivered("bob", _, nil) = try await play.verdict(on: "o-1") else {
                Issue.record("not delivered to bob")
                return
            }
            #expect(try await play.claim(gems) == "already_delivered")
        }
    }

    @Test func whatIsMeantMustBeSaid() async throws {
        try await withPlay { play in
            let gems = play.buy("1000000004")
            try await play.admit(gems)
            try await play.administer(
                "SELECT iap.admit(\(Play.bundleID), 'Sandbox', \(gems.id), \(gems.id), 'gems.60', 1, now(), 'anna')")
            #expect(try await play.decide(.dismissed, gems) == .ambiguous)
            #expect(try await play.decide(.dismissed, gems) { $0.environment = .sandbox } == .done)
            #expect(try await play.decide(.reopened, play.buy("1000000005")) == .unchanged(.notVerified))
        }
    }

    @Test(arguments: ["iap_job", "iap_app"]) func onlyTheSupportDeskMay(role: String) async throws {
        try await withPlay { play in
            let gems = play.buy("1000000006")
            try await play.admit(gems)
            for decision in [Resolution.Decision.delivered(), .reopened] {
                let error = await #expect(throws: JobError.self) {
                    try await play.decide(decision, gems, as: role)
                }
                guard case .databaseRefuses(let text) = error else {
                    Issue.record("\(role): \(String(describing: error))")
                    continue
                }
                #expect(text.contains("support_conninfo"))
            }
        }
    }
}

extension KnownTransaction {
    fileprivate var isOwed: Bool { if case .white = place { true } else { false } }
}
