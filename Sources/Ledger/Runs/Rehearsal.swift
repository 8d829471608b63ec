import Foundation
import PostgreSQL

extension LedgerSession {
    /// What the database knows of the time. The schema must be up to date.
    public func time() async throws(LedgerError) -> LedgerTime {
        try await translating {
            let before = Date()
            let row = try await connection.only(
                """
                SELECT
                    clock_timestamp() AS server, latest.run_id, latest.as_of,
                    EXISTS (SELECT FROM iap.rehearsal) AS is_rehearsal,
                    (SELECT max(finished_at) FROM \(stored: .runs) WHERE state = 'complete') AS complete_at
                FROM (VALUES (true)) AS always (is_there)
                LEFT JOIN (SELECT run_id, as_of FROM \(stored: .runs) ORDER BY as_of DESC, run_id DESC LIMIT 1) AS latest
                    ON true
                """)
            let host = before.addingTimeInterval(Date().timeIntervalSince(before) / 2)
            let asOf = try row.decode("as_of", as: Date?.self)
            let runID = try row.decode("run_id", as: Int64?.self)
            return LedgerTime(
                server: try row.decode("server"), host: host,
                latest: asOf.flatMap { moment in runID.map { ($0, moment) } },
                isRehearsal: try row.decode("is_rehearsal"),
                completeAt: try row.decode("complete_at", as: Date?.self))
        }
    }

    /// Marks the database as made for replays; one that is marked stays so.
    ///
    /// - Returns: false if the ledger holds something already, and nothing was changed.
    public func markAsRehearsal() async throws(LedgerError) -> Bool {
        try await translating {
            try await connection.only(
                """
                WITH marked AS (
                    INSERT INTO iap.rehearsal
                    SELECT
                    WHERE NOT EXISTS (SELECT FROM \(stored: .runs)) AND NOT EXISTS (SELECT FROM \(stored: .receipts))
                        AND NOT EXISTS (SELECT FROM \(stored: .transactions)) AND NOT EXISTS (SELECT FROM iap.orders)
                    ON CONFLICT DO NOTHING
                    RETURNING is_only
                )
                SELECT EXISTS (SELECT FROM marked) OR EXISTS (SELECT FROM iap.rehearsal) AS is_rehearsal
                """
            ).decode("is_rehearsal", as: Bool.self)
        }
    }
}
