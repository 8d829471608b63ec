import PostgreSQL

/// What the nightly job must be allowed to do, as sql/roles.sql grants it to iap_job.
extension LedgerSession {
    /// Checks that the role has every right that a run needs, so that none is found missing in the middle of a night.
    ///
    /// - Throws: `LedgerError.refused` with what is missing and what to do.
    public func checkRights() async throws(LedgerError) {
        let missing = try await translating { try await missingRights() }
        guard missing.isEmpty else {
            throw .refused(
                "the role lacks \(missing.joined(separator: ", ")); run sql/roles.sql as an administrator, after every "
                    + "migration")
        }
    }

    /// Such as "UPDATE on iap.cases".
    func missingRights() async throws -> [String] {
        try await connection.query(
            """
            SELECT 'USAGE on schema ' || needed.name AS missing
            FROM unnest(ARRAY['iap', 'audit']) AS needed (name)
            WHERE NOT has_schema_privilege(needed.name, 'USAGE')
            UNION ALL
            SELECT needed.privilege || ' on ' || needed.relation
            FROM (
                VALUES
                    ('iap.receipts', 'SELECT'), ('iap.uploads', 'SELECT'), ('iap.orders', 'SELECT'),
                    ('iap.products', 'SELECT'), ('iap.claims', 'SELECT'), ('iap.white', 'SELECT'),
                    ('iap.black', 'SELECT'), ('iap.excluded', 'SELECT'), ('iap.transactions', 'SELECT'),
                    ('iap.transactions', 'INSERT'), ('iap.transactions', 'UPDATE'), ('iap.moves', 'SELECT'),
                    ('iap.moves', 'INSERT'), ('iap.entries', 'SELECT'), ('iap.sightings', 'SELECT'),
                    ('iap.sightings', 'INSERT'), ('iap.sightings', 'UPDATE'), ('iap.cases', 'SELECT'),
                    ('iap.cases', 'INSERT'), ('iap.cases', 'UPDATE'), ('iap.runs', 'SELECT'),
                    ('iap.runs', 'INSERT'), ('iap.runs', 'UPDATE'), ('iap.events', 'SELECT'),
                    ('iap.events', 'INSERT'), ('iap.lock_space', 'SELECT'), ('audit.frontier', 'SELECT'),
                    ('audit.links', 'SELECT'), ('iap.sales_reports', 'SELECT'),
                    ('iap.sold_against_seen', 'SELECT')
            ) AS needed (relation, privilege)
            WHERE NOT has_table_privilege(needed.relation, needed.privilege)
            UNION ALL
            SELECT 'UPDATE of ' || needed.columns || ' on ' || needed.relation
            FROM (VALUES ('iap.receipts', 'state'), ('iap.receipts', 'made_at'), ('iap.receipts', 'seal'))
                AS needed (relation, columns)
            WHERE NOT has_column_privilege(needed.relation, needed.columns, 'UPDATE')
            UNION ALL
            SELECT 'EXECUTE on ' || pronamespace::regnamespace || '.' || proname
            FROM pg_proc
            WHERE NOT has_function_privilege(oid, 'EXECUTE')
                AND (
                    (
                        pronamespace = 'iap'::regnamespace
                        AND proname IN (
                            'record', 'enter', 'heard', 'move', 'note', 'white_totals', 'close_books',
                            'purge_payloads', 'purge_devices'))
                    OR (pronamespace = 'audit'::regnamespace AND proname IN ('seal', 'receipt_seal', 'event_seal')))
            ORDER BY 1
            """
        ).map { try $0.decode("missing", as: String.self) }
    }

    /// What the role may not do and `check` and `resolve` must, such as "EXECUTE on iap.resolve".
    public func missingSupportRights() async throws(LedgerError) -> [String] {
        try await translating {
            try await connection.query(
                """
                SELECT 'SELECT on iap.' || needed.relation AS missing
                FROM unnest(ARRAY['transactions', 'moves', 'sightings', 'claims', 'cases', 'events', 'orders'])
                    AS needed (relation)
                WHERE NOT has_table_privilege('iap.' || needed.relation, 'SELECT')
                UNION ALL
                SELECT 'EXECUTE on ' || pronamespace::regnamespace || '.' || proname
                FROM pg_proc
                WHERE pronamespace = 'iap'::regnamespace AND proname IN ('resolve', 'reopen')
                    AND NOT has_function_privilege(oid, 'EXECUTE')
                ORDER BY 1
                """
            ).map { try $0.decode("missing", as: String.self) }
        }
    }
}
