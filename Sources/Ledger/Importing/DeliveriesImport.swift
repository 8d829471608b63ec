import PostgreSQL

/// Takes staged deliveries into black, as if they had been claimed: what was white or excluded moves, and its case is
/// closed. What Apple said of a transaction stays: the line only adds that, when and to whom it was delivered. Of the
/// ids of what was bought once one is black, and the others are excluded as restored.
struct DeliveriesImport {
    let connection: Connection
    /// How many lines are staged.
    let staged: Int

    func merge() async throws -> (taken: Int, contradicted: [Int: Contradiction]) {
        let taken = try await take()
        return (taken, taken < staged ? try await contradicted() : [:])
    }

    private func take() async throws -> Int {
        try await connection.only(
            """
            SELECT import_deliveries(
                coalesce(array_agg(
                    ROW(
                        transaction_id, bundle_id, environment, original_transaction_id, product_id, NULL, quantity,
                        purchased_at, NULL, NULL, false, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 'app_server',
                        now(), NULL, user_id, order_id, NULL, delivered_at, NULL, NULL, NULL, NULL, NULL, NULL,
                        NULL)::iap.verified
                    ORDER BY transaction_id, bundle_id, environment), '{}')) AS taken
            FROM (
                SELECT DISTINCT ON (transaction_id, bundle_id, environment) *
                FROM incoming
                WHERE NOT \(Self.isOfAnotherApp)
                ORDER BY transaction_id, bundle_id, environment, line
            ) AS delivered
            """
        ).decode("taken", as: Int.self)
    }

    /// Apple gives an id once: what is known of one app is not another's.
    private static let isOfAnotherApp: SQL = """
        EXISTS (
            SELECT FROM transactions AS other
            WHERE other.transaction_id = incoming.transaction_id AND other.environment = incoming.environment
                AND other.bundle_id <> incoming.bundle_id AND other.place <> 'excluded')
        """

    /// Lines that say it was delivered to another user than black does, or in another app, or before the app's server
    /// was asked to deliver it, and did.
    private func contradicted() async throws -> [Int: Contradiction] {
        let rows = try await connection.query(
            """
            SELECT line, 'other_user' AS contradiction
            FROM incoming
            JOIN black USING (transaction_id, bundle_id, environment)
            WHERE incoming.user_id <> black.user_id
            UNION ALL
            SELECT line, 'other_app'
            FROM incoming
            WHERE \(Self.isOfAnotherApp)
            UNION ALL
            SELECT line, 'redelivered'
            FROM incoming
            JOIN black USING (transaction_id, bundle_id, environment)
            JOIN redeliveries USING (transaction_id, bundle_id, environment)
            WHERE black.delivered_by IN ('claim', 'entitlement') AND black.delivered_at >= redeliveries.taken_at
                -- What a server took before and credited without a claim is the redelivery's own. A minute is more than
                -- the clocks of two servers differ by.
                AND incoming.delivered_at
                    < CASE tries WHEN 1 THEN taken_at ELSE ordered_at END - interval '1 minute'
            """)
        return Dictionary(
            try rows.map { (try $0.decode("line", as: Int.self), try $0.word("contradiction")) },
            uniquingKeysWith: { first, _ in first })
    }
}
