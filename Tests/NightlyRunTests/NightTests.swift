import AppStoreSimulator
import Foundation
import NightlyRun
import Reconciliation
import Testing

@Suite struct NightTests {
    @Test func findsWhatIsTrulyLostAndNothingElse() async throws {
        try await withStage(customers: 600) { stage in
            let (report, findings) = try await stage.run()
            #expect(report.outcome == .complete)
            #expect(findings.isFinished)
            #expect(report.totals.imbalances == [])
            #expect(report.totals.verified.transactions > 0)
            #expect(findings.caseIDs.subtracting(stage.lost) == [])
            #expect(stage.lost.subtracting(findings.caseIDs) == [])
            #expect(report.pending == stage.truth.pending)
            #expect(!findings.unusable.isEmpty)
        }
    }

    @Test func changesNothingWhenItRunsAgainAtOnce() async throws {
        try await withStage { stage in
            let first = try await stage.run()
            let tables = [
                "iap.receipts", "iap.uploads", "iap.verified", "iap.white", "iap.black", "iap.excluded",
                "iap.sightings", "iap.claims", "iap.cases", "iap.movements", "iap.products", "iap.orders",
            ]
            var before: [String: [String]] = [:]
            for table in tables { before[table] = try await stage.rows(of: table) }
            let second = try await stage.run()
            for table in tables {
                let after = try await stage.rows(of: table)
                #expect(after == before[table], "\(table) changed")
            }
            #expect(second.findings.cases.map(\.key) == first.findings.cases.map(\.key))
            #expect(second.report.receipts.due == 0)
            #expect(second.report.totals.openingWhite == first.report.totals.closingWhite)
        }
    }

    @Test func leavesNoTraceOfADryRunThatReportsTheSame() async throws {
        try await withStage { stage in
            let tables = [
                "iap.receipts", "iap.white", "iap.black", "iap.excluded", "iap.sightings", "iap.cases", "iap.runs",
                "iap.events", "iap.movements",
            ]
            var before: [String: [String]] = [:]
            for table in tables { before[table] = try await stage.rows(of: table) }
            let dry = try await stage.run(RunOptions(isDryRun: true, now: Stage.now))
            for table in tables {
                let after = try await stage.rows(of: table)
                #expect(after == before[table], "\(table) changed")
            }
            #expect(dry.report.isDryRun)
            let real = try await stage.run()
            #expect(dry.findings.cases.map(\.key) == real.findings.cases.map(\.key))
            #expect(dry.findings.unusable.map(\.receiptID) == real.findings.unusable.map(\.receiptID))
            #expect(dry.report.totals == real.report.totals)
        }
    }

    @Test func triesNoMorePayloadsThanTheLimitHasReceipts() async throws {
        try await withStage { stage in
            let (report, _) = try await stage.run(RunOptions(limit: 20, now: Stage.now))
            let receipts = report.receipts
            let tried = try await stage.rows(of: "iap.receipts").filter { !$0.contains(#""last_attempt_at": null"#) }
            #expect(tried.count == receipts.verified + receipts.tryAgain + receipts.unusable)
            #expect(tried.count >= 20)
            // Each worker may have met receipts with the payload of its last one.
            let payloads = Set(try tried.map { try #require($0.firstMatch(of: /"payload_sha256": "[^"]*"/)).output })
            #expect(payloads.count <= 20)
        }
    }
}
