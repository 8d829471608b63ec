import PostgreSQL

/// Takes staged deliveries into the black table, as if they had been claimed: what was white or excluded leaves that
/// table, the movement is journalled for the control totals, and the case is closed. What Apple said of a
/// transaction stays: the line only adds that, when and to whom it was delivered.
struct DeliveriesImport {
    let connection: Connection
    /// How many lines are staged.
    let staged: Int

    func merge() async throws -> (taken: Int, contradicted: [Int]) {
        try await shutWhite()
        let taken = try await take()
        try await withdrawRestored()
        try await leaveWhite()
        try await leaveExcluded()
        return (taken, taken < staged ? try await contradicted() : [])
    }

    /// Nobody writes to white until the batch is committed: a transaction that a run or an app's server admits at
    /// this very moment would else be white and black, since neither saw the other. Where this and a claim wait for
    /// each other, it is the import that gives way, by its lock timeout.
    private func shutWhite() async throws {
        try await connection.execute("LOCK TABLE white IN SHARE ROW EXCLUSIVE MODE")
    }

    private func take() async throws -> Int {
        try await connection.execute(
            """
            INSERT INTO black (
                transaction_id, bundle_id, environment, original_transaction_id, product_id, product_type, quantity,
                purchased_at, price_milliunits, currency, storefront, booked_milliunits, booked_currency, booked_as,
                source, first_seen_at, first_run_id, user_id, order_id, delivered_by, delivered_at, refunded_at,
                refund_reason, refund_run_id, seal)
            SELECT
                delivered.*,
                \(Seal.black.of())
            FROM (
                SELECT DISTINCT ON (incoming.transaction_id, incoming.bundle_id, incoming.environment)
                    incoming.transaction_id, incoming.bundle_id, incoming.environment,
                    coalesce(
                        white.original_transaction_id, excluded.original_transaction_id,
                        incoming.original_transaction_id) AS original_transaction_id,
                    coalesce(white.product_id, excluded.product_id, incoming.product_id) AS product_id,
                    coalesce(white.product_type, excluded.product_type, products.type),
                    coalesce(
                        white.quantity, CASE WHEN excluded.quantity > 0 THEN excluded.quantity END,
                        incoming.quantity) AS quantity,
                    coalesce(white.purchased_at, excluded.purchased_at, incoming.purchased_at) AS purchased_at,
                    coalesce(white.price_milliunits, excluded.price_milliunits) AS price_milliunits,
                    coalesce(white.currency, excluded.currency) AS currency,
                    coalesce(white.storefront, excluded.storefront),
                    CASE WHEN coalesce(white.booked_as, excluded.booked_as) IS NULL
                        THEN products.list_price_milliunits * incoming.quantity
                        ELSE coalesce(white.booked_milliunits, excluded.booked_milliunits) END,
                    CASE WHEN coalesce(white.booked_as, excluded.booked_as) IS NULL
                        THEN products.currency
                        ELSE coalesce(white.booked_currency, excluded.booked_currency) END,
                    coalesce(
                        white.booked_as, excluded.booked_as,
                        CASE WHEN products.list_price_milliunits IS NULL THEN 'unknown' ELSE 'list' END),
                    coalesce(white.source, excluded.source, 'app_server'),
                    coalesce(white.first_seen_at, excluded.excluded_at, now()),
                    coalesce(white.first_run_id, excluded.run_id),
                    incoming.user_id, incoming.order_id, 'import' AS delivered_by, incoming.delivered_at,
                    excluded.refunded_at, excluded.refund_reason,
                    CASE WHEN excluded.refunded_at IS NOT NULL THEN excluded.run_id END
                FROM incoming
                LEFT JOIN white USING (transaction_id, bundle_id, environment)
                LEFT JOIN excluded USING (transaction_id, bundle_id, environment)
                LEFT JOIN products
                    ON products.bundle_id = incoming.bundle_id AND products.product_id = incoming.product_id
                ORDER BY incoming.transaction_id, incoming.bundle_id, incoming.environment, line
            ) AS delivered
            ON CONFLICT (transaction_id, bundle_id, environment) DO NOTHING
            """)
    }

    /// A non-consumable is owed once: the other transactions of a purchase that was delivered leave white. Which
    /// purchase it was, Apple knows better than the line, where it said so.
    private func withdrawRestored() async throws {
        try await connection.execute(
            """
            WITH delivered AS (
                SELECT original_transaction_id, bundle_id, environment
                FROM incoming
                UNION
                SELECT white.original_transaction_id, bundle_id, environment
                FROM incoming
                JOIN white USING (transaction_id, bundle_id, environment)
            ), gone AS (
                DELETE FROM white
                USING delivered
                WHERE white.original_transaction_id = delivered.original_transaction_id
                    AND white.bundle_id = delivered.bundle_id AND white.environment = delivered.environment
                    AND 'non_consumable' = coalesce(
                        white.product_type,
                        (
                            SELECT type FROM products
                            WHERE products.bundle_id = white.bundle_id AND products.product_id = white.product_id
                        ))
                    AND NOT EXISTS (
                        SELECT FROM incoming
                        WHERE incoming.transaction_id = white.transaction_id
                            AND incoming.bundle_id = white.bundle_id
                            AND incoming.environment = white.environment)
                RETURNING white.*
            ), closed AS (
                UPDATE cases
                SET state = 'closed', closed_at = now(), closed_as = 'withdrawn', closed_by = 'import'
                FROM gone
                WHERE cases.transaction_id = gone.transaction_id AND cases.bundle_id = gone.bundle_id
                    AND cases.environment = gone.environment AND cases.state = 'open'
            ), kept AS (
                INSERT INTO excluded (
                    transaction_id, bundle_id, environment, original_transaction_id, product_id, product_type,
                    quantity, purchased_at, price_milliunits, currency, storefront, booked_milliunits,
                    booked_currency, booked_as, source, verified_at, reason, excluded_at, seal)
                SELECT
                    transaction_id, bundle_id, environment, original_transaction_id, product_id, product_type,
                    quantity, purchased_at, price_milliunits, currency, storefront, booked_milliunits,
                    booked_currency, booked_as, source, verified_at, 'restored', now(),
                    \(Seal.excluded.of(["reason": "'restored'", "found_bundle_id": "NULL", "excluded_at": "now()"]))
                FROM gone
                ON CONFLICT (transaction_id, bundle_id, environment) DO NOTHING
            )
            INSERT INTO movements (kind, transactions, units, hash)
            SELECT 'resolved', count(*), sum(quantity), bit_xor(hashtextextended(transaction_id, 0))
            FROM gone
            HAVING count(*) > 0
            """)
    }

    private func leaveWhite() async throws {
        try await connection.execute(
            """
            WITH gone AS (
                DELETE FROM white
                USING incoming
                WHERE white.transaction_id = incoming.transaction_id AND white.bundle_id = incoming.bundle_id
                    AND white.environment = incoming.environment
                RETURNING white.transaction_id, white.bundle_id, white.environment, white.quantity
            ), closed AS (
                UPDATE cases
                SET state = 'closed', closed_at = now(), closed_as = 'delivered', closed_by = 'import'
                FROM gone
                WHERE cases.transaction_id = gone.transaction_id AND cases.bundle_id = gone.bundle_id
                    AND cases.environment = gone.environment AND cases.state = 'open'
            ), noted AS (
                INSERT INTO events (kind, actor, transaction_id, bundle_id, environment, details)
                SELECT
                    'imported', session_user, transaction_id, bundle_id, environment,
                    jsonb_build_object(
                        'what', 'delivered', 'from', 'white', 'user_id', black.user_id, 'order_id', black.order_id)
                FROM gone
                JOIN black USING (transaction_id, bundle_id, environment)
            )
            INSERT INTO movements (kind, transactions, units, hash)
            SELECT 'claimed', count(*), sum(quantity), bit_xor(hashtextextended(transaction_id, 0))
            FROM gone
            HAVING count(*) > 0
            """)
    }

    /// That it was refunded, a sandbox purchase or whatever else stays in the audit trail, a refund in black too.
    private func leaveExcluded() async throws {
        try await connection.execute(
            """
            WITH gone AS (
                DELETE FROM excluded
                USING incoming
                WHERE excluded.transaction_id = incoming.transaction_id
                    AND excluded.bundle_id = incoming.bundle_id
                    AND excluded.environment = incoming.environment
                RETURNING
                    excluded.transaction_id, excluded.bundle_id, excluded.environment, excluded.reason,
                    excluded.found_bundle_id
            )
            INSERT INTO events (kind, actor, transaction_id, bundle_id, environment, details)
            SELECT
                'imported', session_user, transaction_id, bundle_id, environment,
                jsonb_strip_nulls(
                    jsonb_build_object(
                        'what', 'delivered', 'from', 'excluded', 'excluded_as', reason,
                        'found_bundle_id', found_bundle_id))
            FROM gone
            """)
    }

    /// Lines that say it was delivered to another user than black does.
    private func contradicted() async throws -> [Int] {
        try await connection.query(
            """
            SELECT line
            FROM incoming
            JOIN black USING (transaction_id, bundle_id, environment)
            WHERE incoming.user_id <> black.user_id
            ORDER BY line
            """
        ).map { try $0.decode("line", as: Int.self) }
    }
}
