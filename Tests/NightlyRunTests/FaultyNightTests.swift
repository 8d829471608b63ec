import Verification
import AppStoreSimulator
import Foundation
import Job
import NightlyRun
import PostgreSQL
import Reconciliation
import Testing

/// Nights on which Apple answers badly or not at all.
@Suite struct FaultyNightTests {
    private static let day: TimeInterval = 86_400

    @Test func losesAndDoublesNothingWithEveryFaultAtFivePercent() async throws {
        let shares = Dictionary(uniqueKeysWithValues: Fault.common.map { ($0, 0.05) })
        // A tenth of the receipts meets a fault at every attempt of the first night.
        let faults = try Faults(shares, stickyShare: 0.1, timeoutSeconds: 2)
        let undisturbed = try await undisturbedLedger(customers: 140)
        try await withStage(customers: 140, faults: faults) { stage in
            var stage = stage
            stage.settings.apple.timeout = 0.5
            stage.settings.apple.attempts = 2
            let receipts = try await stage.rows(of: "iap.receipts").count
            let first = try await stage.run()
            #expect(first.report.totals.imbalances == [])
            #expect(first.report.receipts.left == 0)
            #expect(!first.findings.unverified.isEmpty)
            #expect(first.findings.unverified.allSatisfy { !$0.detail.isEmpty && $0.problem.mayPass })
            let listed = first.findings.unverified.count + first.findings.unusable.count
            #expect(listed >= first.report.receipts.tryAgain + first.report.receipts.unusable)
            #expect(first.findings.toldIDs.isSubset(of: stage.lost))
            let kept = try await stage.rows(of: "iap.receipts").count
            #expect(kept == receipts)

            // Apple is well again: what waited is verified the next night, and nothing is there twice.
            let second = try await stage.withWellStore { well in
                var well = well
                // It answers each time, however busy the machine is.
                well.settings.apple.timeout = 60
                return try await well.run(RunOptions(now: Stage.now + Self.day))
            }
            #expect(second.report.totals.imbalances == [])
            #expect(second.findings.unverified.allSatisfy { $0.problem == .malformed || $0.problem == .noTransactions })
            var ledger = try await stage.ledger()
            var expected = undisturbed
            // A day later, what was still within its grace has become a case.
            ledger["iap.cases"] = nil
            expected["iap.cases"] = nil
            ledger["iap.black"] = ledger["iap.black"]?.map(Self.withoutMomentOfGrant)
            expected["iap.black"] = expected["iap.black"]?.map(Self.withoutMomentOfGrant)
            expectSame(ledger, expected)
            #expect(stage.lost.isSubset(of: second.findings.toldIDs))
            #expect(try await violations(stage.database) == [])
        }
    }

    /// What was granted counts as delivered from the night on which Apple tells that it was paid.
    private static func withoutMomentOfGrant(_ row: String) -> String {
        guard row.contains(#""delivered_by": "entitlement""#) else { return row }
        return row.replacing(/"delivered_at": "[^"]*"/, with: "")
    }

    @Test func leavesTheInboxAsItWasWhenAppleIsDownFromTheStart() async throws {
        let undisturbed = try await undisturbedLedger()
        try await withStage { stage in
            stage.store.setOutage(true)
            let untouched = try await stage.ledger()
            // What needs no word of Apple's comes afterwards: a company's tables, and transactions that prove themselves.
            let isSigned: SQL = "payload LIKE '%.%.%'"
            try await stage.makeDue(isSigned, at: Stage.now + 1)
            var alone = stage
            alone.settings.sources = []
            await #expect {
                _ = try await alone.run()
            } throws: { error in
                guard case .appleUnavailable = error as? JobError else { return false }
                return true
            }
            var ledger = try await stage.ledger()
            // What the app's server admitted itself needs no word of Apple's to become a case.
            ledger["iap.cases"] = untouched["iap.cases"]
            expectSame(ledger, untouched)
            let runs = try await stage.rows(of: "iap.runs")
            #expect(runs.count == 1)
            #expect(runs.first?.contains(#""exit_code": 69"#) == true)

            // Every receipt is still due: nobody has to wait for the next night.
            try await stage.makeDue(isSigned, at: Stage.now)
            let second = try await stage.withWellStore { try await $0.run() }
            #expect(second.report.outcome == .complete)
            expectSame(try await stage.ledger(), undisturbed)
        }
    }

    @Test func endsEarlyWhenAppleGoesDownAndFinishesTheNextNight() async throws {
        let undisturbed = try await undisturbedLedger()
        try await withStage(outageAfter: 150) { stage in
            let first = try await stage.run()
            guard case .endedEarly(let why) = first.report.outcome else {
                Issue.record("the run did not end early: \(first.report.outcome)")
                return
            }
            #expect(why.contains("Apple"))
            #expect(first.report.receipts.verified > 0)
            #expect(first.report.receipts.left > 0)
            #expect(first.report.totals.imbalances == [])
            #expect(first.findings.toldIDs.isSubset(of: stage.lost))

            let second = try await stage.withWellStore { try await $0.run() }
            #expect(second.report.outcome == .complete)
            expectSame(try await stage.ledger(), undisturbed)
        }
    }

    @Test func noticesARefundTheNextNight() async throws {
        try await withStage { stage in
            let first = try await stage.run()
            let refunded = try #require(first.findings.cases.first { $0.subscription == nil })
            stage.store.update {
                $0.refund(refunded.key.id.text, Refund(at: Stage.now - 60, reason: "1"))
            }
            let second = try await stage.run(RunOptions(now: Stage.now + Self.day))
            #expect(!second.findings.caseIDs.contains(refunded.key.id.text))
            #expect(second.report.totals.refunded.transactions == 1)
            #expect(second.report.totals.imbalances == [])
            let excluded = try await stage.rows(of: "iap.excluded").filter { $0.contains(refunded.key.id.text) }
            #expect(excluded.count == 1)
            #expect(excluded.first?.contains(#""reason": "refunded""#) == true)
        }
    }
}
