import SimulatedWorld
import AppStoreSimulator
import Foundation
import Job
import NightlyRun
import PostgreSQL
import Reconciliation
import TestSupport
import Testing

@Suite struct NightTests {
    @Test func findsWhatIsTrulyLostAndNothingElse() async throws {
        try await withStage(customers: 550) { stage in
            let (report, findings) = try await stage.run()
            #expect(report.outcome == .complete)
            #expect(findings.isFinished)
            #expect(report.totals.imbalances == [])
            #expect(report.totals.verified.transactions > 0)
            #expect(findings.toldIDs.subtracting(stage.lost) == [])
            #expect(stage.lost.subtracting(findings.toldIDs) == [])
            #expect(report.pending == stage.truth.pending)
            #expect(!findings.unusable.isEmpty)
            // Also where the time went, in the report and in the run's row.
            #expect(
                report.stages.map(\.name) == [
                    "pull", "hear", "ask", "fetch", "verify", "record", "sweep", "books", "report",
                ])
            #expect(report.stages.allSatisfy { $0.seconds > 0 })
            #expect(report.stages.first.map { $0.items > 0 } == true, "rows were pulled, and none is counted")
            #expect(try await stage.rows(of: "(SELECT FROM iap.runs WHERE jsonb_array_length(stages) = 8)").count == 1)
        }
    }

    @Test func changesNothingWhenItRunsAgainAtOnce() async throws {
        try await withStage { stage in
            let first = try await stage.run()
            let tables = [
                "iap.receipts", "iap.uploads", "iap.transactions", "iap.moves", "iap.sightings", "iap.claims",
                "iap.cases",
                "iap.products", "iap.orders",
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

    /// Known and new ones are recorded together, and two runs of one night count once.
    @Test func countsTheNightsThatConfirmATransaction() async throws {
        try await withStage { stage in
            try await stage.makeDue("get_byte(payload_sha256, 31) < 128", at: Stage.now + 43_200)
            let first = try await stage.run()
            #expect(first.report.totals.newlyWhite.transactions > 0)
            let second = try await stage.run(RunOptions(now: Stage.now + 86_400))
            #expect(second.report.totals.newlyWhite.transactions > 0)
            #expect(second.report.totals.alreadyWhite.transactions > 0)
            let nights = try await stage.nights()
            #expect(Set(nights.values) == [1, 2])
            let known = Set(nights.filter { $0.value == 2 }.keys)
            #expect(known == Set(try await stage.white(since: first.report.runID)))
            try await stage.makeDue("state = 'watched'", at: Stage.now + 90_000)
            let third = try await stage.run(RunOptions(now: Stage.now + 90_000))
            #expect(third.report.receipts.due > 0)
            #expect(try await stage.nights() == nights)
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
            let due = try await stage.rows(of: "iap.receipts").count
            #expect(report.outcome == .complete && report.beyondLimit == due - tried.count)
            #expect(try await stage.run().report.beyondLimit == 0)
        }
    }
}

extension Stage {
    /// When receipts are due again.
    func makeDue(_ which: SQL, at moment: Date) async throws {
        let connection = try await database.connect()
        defer { connection.close() }
        try await connection.execute("UPDATE iap.receipts SET next_attempt_at = \(moment) WHERE \(which)")
    }

    /// The number of nights that confirmed each white transaction.
    fileprivate func nights() async throws -> [String: Int32] {
        let connection = try await database.connect()
        defer { connection.close() }
        let rows = try await connection.query("SELECT transaction_id, nights_confirmed FROM iap.white")
        return try rows.reduce(into: [:]) { $0[try $1.decode("transaction_id")] = try $1.decode("nights_confirmed") }
    }

    /// The white transactions that a run was the first to see.
    fileprivate func white(since runID: Int64?) async throws -> [String] {
        let connection = try await database.connect()
        defer { connection.close() }
        let rows = try await connection.query(
            "SELECT transaction_id FROM iap.white WHERE first_run_id = \(runID as Int64?)")
        return try rows.map { try $0.decode("transaction_id") }
    }
}
