import PostgreSQL

/// A dry run writes into shadows: temporary tables of the session that stand in front of the ledger's own, so that
/// the very statements of a real run serve it and the ledger is only read. The shadows of `white` and `cases` begin
/// as copies; those of `black` and `excluded` take what each batch needs of them; the others begin empty.
extension LedgerSession {
    /// Puts the shadows in front, for the rest of the session.
    public func shadowTables() async throws(LedgerError) {
        try await translating {
            try await connection.executeScript(
                unsafe: """
                    SET search_path = pg_temp, iap;
                    CREATE TEMPORARY TABLE white (LIKE iap.white INCLUDING ALL);
                    CREATE TEMPORARY TABLE cases (LIKE iap.cases INCLUDING ALL);
                    CREATE TEMPORARY TABLE black (LIKE iap.black INCLUDING ALL);
                    CREATE TEMPORARY TABLE excluded (LIKE iap.excluded INCLUDING ALL);
                    CREATE TEMPORARY TABLE sightings (LIKE iap.sightings INCLUDING ALL);
                    CREATE TEMPORARY TABLE verified (LIKE iap.verified INCLUDING ALL);
                    CREATE TEMPORARY TABLE runs (LIKE iap.runs INCLUDING ALL);
                    CREATE TEMPORARY TABLE movements (LIKE iap.movements INCLUDING ALL);
                    CREATE TEMPORARY TABLE events (LIKE iap.events INCLUDING ALL);
                    CREATE TEMPORARY TABLE receipts (LIKE iap.receipts INCLUDING DEFAULTS);
                    """)
            try await connection.transaction(.repeatableRead) {
                try await connection.executeScript(
                    unsafe: """
                        INSERT INTO white SELECT * FROM iap.white;
                        INSERT INTO cases SELECT * FROM iap.cases WHERE state = 'open';
                        INSERT INTO sightings
                        SELECT iap.sightings.* FROM iap.sightings
                        JOIN iap.white USING (transaction_id, bundle_id, environment);
                        INSERT INTO movements OVERRIDING SYSTEM VALUE
                        SELECT * FROM iap.movements WHERE closed_run_id IS NULL;
                        INSERT INTO runs OVERRIDING SYSTEM VALUE
                        SELECT * FROM iap.runs WHERE closing_number IS NOT NULL
                        ORDER BY closing_number DESC LIMIT 1;
                        """)
                try await pullReceipts("error_code IS NOT NULL")
            }
            // The copied rows keep their numbers: those to come count on from there.
            _ = try await connection.query(
                """
                SELECT
                    setval(pg_get_serial_sequence('runs', 'run_id'), (SELECT coalesce(max(run_id), 0) + 1 FROM runs)),
                    setval(
                        pg_get_serial_sequence('movements', 'movement_id'),
                        (SELECT coalesce(max(movement_id), 0) + 1 FROM movements))
                """)
            isShadowed = true
        }
    }

    /// Takes what the staged batch needs to know into the shadows; nothing to do in a real run.
    func pullShadows(for record: BatchRecord) async throws {
        guard isShadowed else { return }
        try await connection.executeScript(
            unsafe: """
                INSERT INTO black
                SELECT DISTINCT iap.black.* FROM iap.black
                JOIN verified USING (transaction_id, bundle_id, environment)
                ON CONFLICT DO NOTHING;
                INSERT INTO excluded
                SELECT DISTINCT iap.excluded.* FROM iap.excluded
                JOIN verified USING (transaction_id, bundle_id, environment)
                ON CONFLICT DO NOTHING;
                """)
        let ids = record.receipts.map(\.id)
        try await connection.execute("DELETE FROM receipts WHERE receipt_id = ANY (\(ids))")
        try await pullReceipts("bucket = \(Int16(record.bucket)) AND receipt_id = ANY (\(ids))")
    }

    /// Copies receipts into the shadow, without their payloads.
    private func pullReceipts(_ condition: SQL) async throws {
        try await connection.execute(
            """
            INSERT INTO receipts (
                bucket, receipt_id, bundle_id, user_id, payload, payload_sha256, order_id, transaction_id, device,
                submitted_at, state, attempts, next_attempt_at, last_attempt_at, verified_at, error_code, error_text)
            SELECT
                bucket, receipt_id, bundle_id, user_id, '', payload_sha256, order_id, transaction_id, device,
                submitted_at, state, attempts, next_attempt_at, last_attempt_at, verified_at, error_code, error_text
            FROM iap.receipts
            WHERE \(condition)
            """)
    }
}
