import PostgreSQL

extension LedgerSession {
    /// Has a run tell of the cases that are closed and that none has told of: each is told of once, however long the claim
    /// that closed it was open, and however long the run before took. A run that ended before it closed its books has told
    /// nobody.
    public func tellClosedCases(runID: Int64) async throws(LedgerError) {
        try await translating {
            _ = try await connection.execute(
                """
                WITH untold AS (
                    SELECT transaction_id, bundle_id, environment
                    FROM cases
                    WHERE state = 'closed' AND told_run_id IS NULL
                    UNION ALL
                    SELECT transaction_id, bundle_id, environment
                    FROM runs
                    JOIN cases ON cases.told_run_id = runs.run_id
                    WHERE runs.closing_number IS NULL AND runs.state <> 'running'
                ), held AS MATERIALIZED (
                    SELECT cases.transaction_id, cases.bundle_id, cases.environment
                    FROM untold
                    JOIN cases USING (transaction_id, bundle_id, environment)
                    WHERE cases.state = 'closed'
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
