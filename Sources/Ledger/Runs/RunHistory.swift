import Foundation
import PostgreSQL
public import Reconciliation

extension LedgerSession {
    /// The runs that began in so many days before the latest one, whatever became of them, the oldest first.
    public func pastRuns(days: Int) async throws(LedgerError) -> [PastRun] {
        try await translating {
            let rows = try await connection.query(
                """
                SELECT
                    run_id, as_of, state, exit_code, reason, receipts_due, receipts_verified, receipts_try_again,
                    receipts_unusable, cases::text AS cases
                FROM runs
                WHERE as_of > (SELECT max(as_of) FROM runs) - make_interval(days => \(Int32(clamping: days)))
                ORDER BY run_id
                """)
            return try rows.map(PastRun.init)
        }
    }

    /// How the cases that a run left open differ from those that an earlier run left open; `nil` if either is not known
    /// to have ended.
    public func differences(from: Int64, to: Int64) async throws(LedgerError) -> CaseDifferences? {
        try await reading {
            guard let before = try await end(of: from), let after = try await end(of: to) else { return nil }
            let rows = try await connection.query(
                """
                WITH touched AS (
                    SELECT transaction_id, bundle_id, environment
                    FROM events
                    WHERE event_id > \(before.number) AND event_id <= \(after.number) AND \(Self.isOfCase)
                    UNION
                    SELECT transaction_id, bundle_id, environment
                    FROM moves
                    WHERE move_id > \(before.number) AND move_id <= \(after.number) AND from_place = 'white'
                )
                SELECT
                    touched.*, after.kind, after.actor, after.happened_at,
                    was.likelihood AS was_likelihood, was.reasons AS was_reasons, was.owners AS was_owners,
                    after.likelihood, after.reasons, after.owners
                FROM touched
                LEFT JOIN LATERAL (\(Self.standing(at: before.number))) AS was ON true
                LEFT JOIN LATERAL (\(Self.standing(at: after.number))) AS after ON true
                WHERE (was.likelihood, was.reasons, was.owners)
                    IS DISTINCT FROM (after.likelihood, after.reasons, after.owners)
                ORDER BY transaction_id, bundle_id, environment
                """)
            return CaseDifferences(
                from: before.moment, to: after.moment, cases: try rows.compactMap(CaseDifference.init))
        }
    }

    private static let isOfCase: SQL = "kind IN ('case_opened', 'case_changed', 'case_reopened', 'case_withdrawn')"

    /// What the trail says last of a case up to a number: what a run made of it, or how it ended.
    private static func standing(at number: Int64) -> SQL {
        """
        SELECT
            kind, actor, happened_at, details ->> 'likelihood' AS likelihood,
            CASE WHEN details ? 'reasons'
                THEN ARRAY(SELECT jsonb_array_elements_text(details -> 'reasons'))
            END AS reasons,
            CASE WHEN details ? 'owner_user_ids'
                THEN ARRAY(SELECT jsonb_array_elements_text(details -> 'owner_user_ids'))
            END AS owners
        FROM (
            SELECT event_id AS number, kind, actor, happened_at, details
            FROM events
            WHERE transaction_id = touched.transaction_id AND bundle_id = touched.bundle_id
                AND environment = touched.environment AND event_id <= \(number) AND \(isOfCase)
            UNION ALL
            SELECT move_id, kind, actor, moved_at, '{}'
            FROM moves
            WHERE transaction_id = touched.transaction_id AND bundle_id = touched.bundle_id
                AND environment = touched.environment AND move_id <= \(number)
                AND from_place = 'white' AND to_place <> 'white'
        ) AS told
        ORDER BY number DESC
        LIMIT 1
        """
    }

    /// How far the trail reached when a run ended.
    private func end(of runID: Int64) async throws -> (moment: RunMoment, number: Int64)? {
        let rows = try await connection.query(
            """
            SELECT runs.as_of, ended.event_id
            FROM runs
            CROSS JOIN LATERAL (
                SELECT event_id FROM events
                WHERE events.run_id = runs.run_id AND kind = 'run_finished'
                ORDER BY event_id DESC
                LIMIT 1
            ) AS ended
            WHERE runs.run_id = \(runID)
            """)
        return try rows.first.map { row in
            (RunMoment(runID: runID, now: try row.decode("as_of")), try row.decode("event_id"))
        }
    }
}

extension PastRun {
    fileprivate init(_ row: Row) throws {
        let kept = try row.decode("cases", as: String?.self)
        let head = try KeptHead(cases: kept)
        self.init(
            runID: try row.decode("run_id"), now: try row.decode("as_of"), state: try row.word("state"),
            exitCode: try row.decode("exit_code", as: Int?.self), reason: try row.decode("reason", as: String?.self),
            receipts: try row.receiptCounts(), cases: try kept.map { _ in try head.counts(row) },
            pending: head.cases.pending)
    }
}

extension CaseDifference {
    /// `nil` for what was open neither before nor after.
    fileprivate init?(_ row: Row) throws {
        let change: Change
        switch (try Judgement(row, "was_"), try Judgement(row, "")) {
        case (nil, nil): return nil
        case (nil, let after?): change = .opened(after)
        case (let was?, let after?): change = .judgedOtherwise(from: was, to: after)
        case (let was?, nil):
            let closing = Closing(
                how: try row.decode("kind"), who: try row.decode("actor"), at: try row.decode("happened_at"))
            change = .closed(closing, was: was)
        }
        self.init(key: try TransactionKey(row), change: change)
    }
}

extension CaseDifference.Judgement {
    /// `nil` if the case was not open.
    fileprivate init?(_ row: Row, _ prefix: String) throws {
        guard let likelihood: Likelihood = try row.wordIfAny("\(prefix)likelihood") else { return nil }
        self.init(
            likelihood: likelihood, reasons: try row.words("\(prefix)reasons"),
            ownerUserIDs: try row.decode("\(prefix)owners", as: [String]?.self) ?? [])
    }
}
