import PostgreSQL

/// A dry run writes into shadows: temporary tables of the session that stand in front of the ledger's own, so that
/// the very statements and functions of a real run serve it and the ledger is only read. The shadow of `transactions`
/// begins with what is white and what came or moved since the books were closed, and takes what each batch needs of
/// it; that of `cases` begins with what is open; what white needs of the others is copied.
extension LedgerSession {
    /// Puts the shadows in front, for the rest of the session.
    public func shadowTables() async throws(LedgerError) {
        try await translating {
            try await connection.executeScript(unsafe: Self.shadows)
            try await connection.transaction(.repeatableRead) {
                try await connection.executeScript(unsafe: Self.shadowRows)
                try await pullReceipts("iap.receipts WHERE error_code IS NOT NULL")
            }
            for view in StoredTable.views { try await shadow(view) }
            // The copied rows keep their numbers, and no run has the number of this one, however it ended.
            _ = try await connection.query(
                """
                SELECT setval(
                    pg_get_serial_sequence('runs', 'run_id'), (SELECT coalesce(max(run_id), 0) + 1 FROM iap.runs))
                """)
            isShadowed = true
        }
    }

    private static let shadows =
        "SET search_path = pg_temp, iap;"
        + StoredTable.alike.map {
            "CREATE TEMPORARY TABLE \($0.rawValue) (LIKE iap.\($0.rawValue) INCLUDING ALL);"
        }.joined()
        + "CREATE TEMPORARY TABLE receipts (LIKE iap.receipts INCLUDING DEFAULTS);"

    private static let shadowRows = """
        INSERT INTO moves
        SELECT moves.* FROM iap.moves
        CROSS JOIN audit.frontier
        WHERE iap.is_beyond(moves.move_id, upto, gaps);
        INSERT INTO moves SELECT * FROM iap.moves WHERE details ? 'refunded_as' ON CONFLICT DO NOTHING;
        INSERT INTO transactions SELECT * FROM iap.transactions WHERE place = 'white';
        INSERT INTO transactions
        SELECT transactions.* FROM iap.transactions
        CROSS JOIN audit.frontier
        WHERE transactions.entry_id > coalesce(lower(gaps) - 1, upto)
        ON CONFLICT DO NOTHING;
        INSERT INTO transactions
        SELECT iap.transactions.* FROM iap.transactions
        JOIN moves USING (transaction_id, bundle_id, environment)
        ON CONFLICT DO NOTHING;
        INSERT INTO transactions
        SELECT iap.transactions.* FROM iap.transactions
        JOIN iap.notices USING (transaction_id, bundle_id, environment)
        WHERE iap.notices.type = 'REFUND_REVERSED'
        ON CONFLICT DO NOTHING;
        INSERT INTO transactions
        SELECT black.*
        FROM iap.entitlements AS shortened
        CROSS JOIN LATERAL (
            SELECT * FROM iap.transactions AS entitled
            WHERE iap.is_of_original(
                    entitled.transaction_id, entitled.original_transaction_id, shortened.original_transaction_id)
                AND entitled.bundle_id = shortened.bundle_id AND entitled.delivered_by = 'entitlement'
                AND entitled.refunded_at IS NULL
            OFFSET 0
        ) AS black
        WHERE shortened.revoked_at IS NOT NULL
            AND greatest(shortened.revoked_at, shortened.entitled_until) > iap.looks_back_to(iap.present())
        ON CONFLICT DO NOTHING;
        INSERT INTO transactions
        SELECT kin.*
        FROM (
            SELECT DISTINCT original_transaction_id, bundle_id, environment FROM transactions
        ) AS original
        JOIN iap.transactions AS kin
            ON iap.is_of_original(
                kin.transaction_id, kin.original_transaction_id, original.original_transaction_id)
            AND kin.bundle_id = original.bundle_id AND kin.environment = original.environment
        ON CONFLICT DO NOTHING;
        INSERT INTO delivered_originals
        SELECT taken.*
        FROM (
            SELECT DISTINCT original_transaction_id, bundle_id, environment, '' AS web_order_line_item_id
            FROM transactions
            WHERE place = 'white' AND product_type IS DISTINCT FROM 'auto_renewable'
            UNION
            -- Delivered as what another named as its original.
            SELECT transaction_id, bundle_id, environment, ''
            FROM transactions
            WHERE place = 'white' AND product_type IS DISTINCT FROM 'auto_renewable'
                AND transaction_id <> original_transaction_id
            UNION
            SELECT original_transaction_id, bundle_id, environment, web_order_line_item_id
            FROM transactions
            WHERE place = 'white' AND web_order_line_item_id IS NOT NULL
        ) AS original
        JOIN iap.delivered_originals AS taken
            USING (original_transaction_id, bundle_id, environment, web_order_line_item_id);
        INSERT INTO runs OVERRIDING SYSTEM VALUE
        SELECT * FROM iap.runs WHERE closing_number IS NOT NULL
        ORDER BY closing_number DESC LIMIT 1;
        -- What is closed may be opened again, and what none has told of is told.
        INSERT INTO cases SELECT * FROM iap.cases WHERE state = 'open' OR told_run_id IS NULL;
        INSERT INTO cases
        SELECT iap.cases.* FROM iap.cases
        JOIN transactions USING (transaction_id, bundle_id, environment)
        ON CONFLICT DO NOTHING;
        INSERT INTO cases
        SELECT iap.cases.* FROM iap.runs
        JOIN iap.cases ON iap.cases.told_run_id = iap.runs.run_id
        WHERE iap.runs.state IN ('failed', 'abandoned')
        ON CONFLICT DO NOTHING;
        INSERT INTO sightings
        SELECT iap.sightings.* FROM iap.sightings
        JOIN iap.white USING (transaction_id, bundle_id, environment);
        INSERT INTO connections SELECT * FROM iap.connections;
        INSERT INTO hearings SELECT * FROM iap.hearings;
        INSERT INTO notices
        SELECT iap.notices.* FROM iap.notices
        JOIN iap.white USING (transaction_id, bundle_id, environment);
        INSERT INTO notices SELECT * FROM iap.notices WHERE type = 'REFUND_REVERSED' ON CONFLICT DO NOTHING;
        """

    /// Makes a view of the ledger's anew, over the shadows.
    private func shadow(_ view: StoredTable) async throws {
        let definition = try await connection.only("SELECT pg_get_viewdef(\("iap.\(view.rawValue)")::regclass) AS text")
            .decode("text", as: String.self)
            .replacing("iap.transactions", with: "pg_temp.transactions").replacing("iap.moves", with: "pg_temp.moves")
            // The type of the rows stays the ledger's.
            .replacing("position_of(t.*)", with: "position_of(ROW(t.*)::iap.transactions)")
        try await connection.executeScript(unsafe: "CREATE TEMPORARY VIEW \(view.rawValue) AS \(definition)")
    }

    /// Takes what the staged batch needs to know into the shadows; nothing to do in a real run.
    func pullShadows(for record: BatchRecord) async throws {
        guard isShadowed else { return }
        try await pullHeardShadows()
        let ids = record.receipts.map(\.id)
        try await connection.execute("DELETE FROM receipts WHERE receipt_id = ANY (\(ids))")
        try await pullReceipts("\(receipts: ids, of: "iap.receipts")")
    }

    /// Takes what is known of the transactions that are staged in `heard` into the shadows; nothing to do in a real
    /// run.
    func pullHeardShadows() async throws {
        guard isShadowed else { return }
        try await connection.executeScript(
            unsafe: """
                INSERT INTO transactions
                SELECT kin.*
                FROM (SELECT DISTINCT transaction_id, original_transaction_id, bundle_id, environment FROM heard) AS heard
                JOIN iap.transactions AS kin
                    ON (
                        kin.transaction_id = heard.transaction_id
                        OR iap.is_of_original(
                            kin.transaction_id, kin.original_transaction_id, heard.original_transaction_id))
                    AND kin.bundle_id = heard.bundle_id AND kin.environment = heard.environment
                ON CONFLICT DO NOTHING;
                INSERT INTO cases
                SELECT iap.cases.* FROM iap.cases
                JOIN heard USING (transaction_id, bundle_id, environment)
                ON CONFLICT DO NOTHING;
                INSERT INTO sightings
                SELECT iap.sightings.* FROM iap.sightings
                JOIN heard USING (transaction_id, bundle_id, environment)
                ON CONFLICT DO NOTHING;
                INSERT INTO notices
                SELECT iap.notices.* FROM iap.notices
                JOIN heard USING (transaction_id, bundle_id, environment)
                ON CONFLICT DO NOTHING;
                INSERT INTO delivered_originals
                SELECT iap.delivered_originals.* FROM iap.delivered_originals
                JOIN (
                    SELECT original_transaction_id, bundle_id, environment, web_order_line_item_id FROM heard
                    UNION
                    -- Delivered as what another named as its original.
                    SELECT transaction_id, bundle_id, environment, NULL FROM heard
                ) AS named USING (original_transaction_id, bundle_id, environment)
                WHERE iap.delivered_originals.web_order_line_item_id IN ('', named.web_order_line_item_id)
                ON CONFLICT DO NOTHING;
                """)
    }

    /// Copies receipts into the shadow, without their payloads.
    private func pullReceipts(_ receipts: SQL) async throws {
        let columns: SQL = """
            bucket, receipt_id, bundle_id, user_id, payload_sha256, order_id, transaction_id, device, submitted_at,
            uploaded_again_at, state, attempts, next_attempt_at, last_attempt_at, verified_at, error_code, error_text
            """
        try await connection.execute(
            "INSERT INTO receipts (payload, \(columns)) SELECT '', \(columns) FROM \(receipts)")
    }
}
