public import Foundation
import PostgreSQL
public import Reconciliation

/// A run as its row keeps it.
public struct KeptRun: Sendable {
    public let runID: Int64
    public let asOf: Date
    public let startedAt: Date
    public let finishedAt: Date
    public let reason: String?
    /// Whether it failed in nothing but its report, which could not be written.
    public let isUnreported: Bool
    public let receipts: ReceiptCounts
    public let totals: ControlTotals
    public let cases: CaseCounts
    public let pending: Int
    public let stages: [StageTime]
    /// How far the trail's chain reached when it closed its books.
    public let trail: AuditTrail?
    public let heard: NoticeTotals?
    public let asked: AskingTotals
    public let purged: Purged
    public let leftOut: LeftOut
    /// How the night ended by its report's word; `nil` if it did not come to that.
    public let told: RunOutcome?
}

extension LedgerSession {
    /// The latest run that closed its books; `nil` if there is none.
    public func latestRun() async throws(LedgerError) -> KeptRun? {
        try await translating {
            let rows = try await connection.query(
                """
                SELECT
                    run_id, as_of, started_at, finished_at, reason,
                    coalesce(state = 'failed' AND exit_code = \(ExitCode.noPermission.rawValue), false) AS is_unreported,
                    receipts_due, receipts_verified, receipts_try_again, receipts_unusable, \(ControlTotals.columns),
                    cases::text AS cases, stages::text AS stages, told::text AS told, trail.entries, trail.link
                FROM runs
                LEFT JOIN (
                    SELECT run_id, sum(entries) OVER (ORDER BY position)::bigint AS entries, encode(link, 'hex') AS link
                    FROM audit.links
                ) AS trail USING (run_id)
                WHERE closing_number IS NOT NULL AND finished_at IS NOT NULL
                ORDER BY run_id DESC
                LIMIT 1
                """)
            return try rows.first.map(KeptRun.init)
        }
    }

    /// What became of a run's receipts, as its batches recorded it, even if the word of a commit was lost.
    public func receiptCounts(of runID: Int64) async throws(LedgerError) -> ReceiptCounts {
        try await translating {
            try await connection.only(
                """
                SELECT receipts_due, receipts_verified, receipts_try_again, receipts_unusable
                FROM runs
                WHERE run_id = \(runID)
                """
            ).receiptCounts()
        }
    }

    /// The figures of the latest runs that closed their books, up to one run, the oldest first.
    public func history(upTo runID: Int64, count: Int = 90) async throws(LedgerError) -> [RunFigures] {
        try await translating {
            let rows = try await connection.query(
                """
                SELECT run_id, as_of, cases::text AS cases
                FROM runs
                WHERE closing_number IS NOT NULL AND cases IS NOT NULL AND run_id <= \(runID)
                ORDER BY closing_number DESC
                LIMIT \(count)
                """)
            return try rows.reversed().map { row in
                let counts = try KeptHead(cases: try row.decode("cases", as: String?.self)).counts(row)
                return RunFigures(
                    runID: try row.decode("run_id"), now: try row.decode("as_of"), cases: counts.total,
                    new: counts.new, closed: counts.closed.values.reduce(0, +), money: counts.money)
            }
        }
    }
}

extension Row {
    func receiptCounts() throws -> ReceiptCounts {
        ReceiptCounts(
            due: try decode("receipts_due"), verified: try decode("receipts_verified"),
            tryAgain: try decode("receipts_try_again"), unusable: try decode("receipts_unusable"))
    }
}

extension KeptRun {
    fileprivate init(_ row: Row) throws {
        let head = try KeptHead(
            cases: try row.decode("cases", as: String?.self), stages: try row.decode("stages", as: String?.self),
            told: try row.decode("told", as: String?.self))
        self.init(
            runID: try row.decode("run_id"), asOf: try row.decode("as_of"), startedAt: try row.decode("started_at"),
            finishedAt: try row.decode("finished_at"), reason: try row.decode("reason", as: String?.self),
            isUnreported: try row.decode("is_unreported"), receipts: try row.receiptCounts(),
            totals: try row.controlTotals(), cases: try head.counts(row), pending: head.cases.pending,
            stages: head.stages,
            trail: try row.decode("link", as: String?.self).map {
                AuditTrail(entries: try row.decode("entries"), end: $0)
            },
            heard: head.told?.heard, asked: head.told?.asked ?? AskingTotals(), purged: head.told?.purged ?? Purged(),
            leftOut: head.told?.leftOut ?? LeftOut(),
            told: head.told.map { told in told.reason.map { .endedEarly($0) } ?? .complete })
    }
}
