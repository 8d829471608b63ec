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
            SELECT privilege || ' on ' || relation
            FROM (
                VALUES
                    (
                        'SELECT',
                        ARRAY[
                            'iap.receipts', 'iap.uploads', 'iap.orders', 'iap.products', 'iap.claims', 'iap.white',
                            'iap.black', 'iap.excluded', 'iap.transactions', 'iap.moves', 'iap.entries',
                            'iap.sightings', 'iap.cases', 'iap.runs', 'iap.events', 'iap.lock_space',
                            'iap.sales_reports', 'iap.sold_against_seen', 'iap.entitlements', 'iap.connections',
                            'iap.sources', 'iap.refused_rows', 'iap.rehearsal', 'iap.notices', 'iap.hearings',
                            'iap.handed_notices', 'iap.account_tokens', 'iap.customers', 'iap.delivery_checks',
                            'iap.unproved', 'iap.paid_prices', 'iap.unusual_prices', 'iap.priced',
                            'iap.case_takings', 'iap.sales_fetches',
                            'audit.frontier', 'audit.links']),
                    (
                        'INSERT',
                        ARRAY[
                            'iap.transactions', 'iap.moves', 'iap.sightings', 'iap.cases', 'iap.runs', 'iap.events',
                            'iap.connections', 'iap.receipts', 'iap.uploads', 'iap.notices', 'iap.hearings',
                            'iap.handed_notices', 'iap.customers', 'iap.delivery_checks', 'iap.paid_prices', 'iap.unusual_prices',
                            'iap.redeliveries', 'iap.redelivered', 'iap.sales_fetches']),
                    (
                        'UPDATE',
                        ARRAY[
                            'iap.transactions', 'iap.sightings', 'iap.cases', 'iap.runs', 'iap.notices',
                            'iap.hearings', 'iap.customers', 'iap.delivery_checks', 'iap.paid_prices',
                            'iap.redeliveries', 'iap.sales_fetches']),
                    ('DELETE', ARRAY['iap.handed_notices', 'iap.customers', 'iap.delivery_checks'])
            ) AS needed (privilege, relations)
            CROSS JOIN LATERAL unnest(relations) AS relation
            WHERE NOT has_table_privilege(relation, privilege)
            UNION ALL
            SELECT 'UPDATE of ' || needed.columns || ' on ' || needed.relation
            FROM (VALUES ('iap.receipts', 'state'), ('iap.receipts', 'made_at'), ('iap.receipts', 'seal'))
                AS needed (relation, columns)
            WHERE NOT has_column_privilege(needed.relation, needed.columns, 'UPDATE')
            UNION ALL
            SELECT 'EXECUTE on ' || pronamespace::regnamespace || '.' || proname
            FROM pg_proc
            WHERE NOT has_function_privilege(oid, 'EXECUTE')
                -- The support desk's own comment is of the same name.
                AND NOT (proname = 'note' AND pronargs = 5 AND proargnames[1] = 'transaction_id')
                AND (
                    (
                        pronamespace = 'iap'::regnamespace
                        AND proname IN (
                            'record', 'enter', 'heard', 'move', 'note', 'white_totals', 'close_books',
                            'purge_payloads', 'purge_devices', 'purgeable_buckets', 'connect', 'cover_entitled',
                            'is_bought_since', 'take_notices', 'hand_in', 'note_hearing', 'take_answers',
                            'note_answers', 'note_checks', 'note_entered', 'case_mark', 'purge_orders',
                            'settle_redeliveries', 'order_redeliveries', 'analyze_grown'))
                    OR (pronamespace = 'audit'::regnamespace AND proname IN ('seal', 'receipt_seal')))
            ORDER BY 1
            """
        ).map { try $0.decode("missing", as: String.self) }
    }

    /// What the role may not do and an import must, such as "INSERT on iap.orders".
    public func missingImportRights() async throws(LedgerError) -> [String] {
        try await translating {
            try await connection.query(
                """
                SELECT 'INSERT on iap.' || needed.relation AS missing
                FROM unnest(ARRAY[
                    'products', 'orders', 'receipts', 'uploads', 'transactions', 'entitlements', 'sources',
                    'refused_rows']) AS needed (relation)
                WHERE NOT has_table_privilege('iap.' || needed.relation, 'INSERT')
                UNION ALL
                SELECT 'EXECUTE on iap.' || proname
                FROM pg_proc
                WHERE pronamespace = 'iap'::regnamespace AND proname IN ('import_deliveries', 'import_entitlements')
                    AND NOT has_function_privilege(oid, 'EXECUTE')
                ORDER BY 1
                """
            ).map { try $0.decode("missing", as: String.self) }
        }
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
                WHERE pronamespace = 'iap'::regnamespace AND proname IN ('resolve', 'reopen', 'decide', 'redeliver')
                    AND NOT has_function_privilege(oid, 'EXECUTE')
                ORDER BY 1
                """
            ).map { try $0.decode("missing", as: String.self) }
        }
    }

    /// What the role may not do and `erase` must.
    public func missingPrivacyRights() async throws(LedgerError) -> [String] {
        try await translating {
            try await connection.query(
                """
                SELECT 'EXECUTE on iap.' || proname AS missing
                FROM pg_proc
                WHERE pronamespace = 'iap'::regnamespace AND proname = 'erase_user'
                    AND NOT has_function_privilege(oid, 'EXECUTE')
                """
            ).map { try $0.decode("missing", as: String.self) }
        }
    }
}
