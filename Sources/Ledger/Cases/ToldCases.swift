import PostgreSQL

extension LedgerSession {
    /// Has a run report the closed cases that no run has reported, however long the claim that closed one was open, and
    /// however long the run before took. It also reports what a run that left no report would have reported, opened or
    /// closed. Each is reported once.
    public func tellCases(runID: Int64) async throws(LedgerError) {
        try await translating {
            _ = try await connection.execute(
                """
                WITH untold AS (
                    SELECT transaction_id, bundle_id, environment, state
                    FROM cases
                    WHERE told_run_id IS NULL AND state = 'closed'
                    UNION ALL
                    SELECT transaction_id, bundle_id, environment, cases.state
                    FROM \(stored: .runs) AS runs
                    JOIN cases ON cases.told_run_id = runs.run_id
                    WHERE runs.state IN ('failed', 'abandoned')
                ), held AS MATERIALIZED (
                    SELECT cases.transaction_id, cases.bundle_id, cases.environment
                    FROM untold
                    JOIN cases USING (transaction_id, bundle_id, environment, state)
                    ORDER BY cases.transaction_id, cases.bundle_id, cases.environment
                    FOR UPDATE OF cases SKIP LOCKED
                )
                UPDATE cases
                SET told_run_id = \(runID)
                FROM held
                WHERE cases.transaction_id = held.transaction_id AND cases.bundle_id = held.bundle_id
                    AND cases.environment = held.environment
                """)
        }
    }
}
