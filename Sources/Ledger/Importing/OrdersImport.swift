import PostgreSQL

/// Takes staged orders, by the rules of `iap.register_order`: the same order again does nothing, the same id for
/// another user, product or quantity is refused.
struct OrdersImport {
    let connection: Connection
    /// How many lines are staged.
    let staged: Int

    func merge() async throws -> (taken: Int, contradicted: [Int: Contradiction]) {
        let taken = try await take()
        guard taken < staged else { return (taken, [:]) }
        try await learnTokens()
        return (taken, try await contradicted())
    }

    private func take() async throws -> Int {
        try await connection.execute(
            """
            INSERT INTO orders
            SELECT taken.*, audit.seal(ROW(taken.*, NULL)::iap.orders)
            FROM (
                SELECT DISTINCT ON (bundle_id, order_id)
                    bundle_id, order_id, user_id, product_id, quantity, app_account_token, coalesce(created_at, now())
                FROM incoming
                ORDER BY bundle_id, order_id, line
            ) AS taken
            ON CONFLICT (bundle_id, order_id) DO NOTHING
            """)
    }

    private func learnTokens() async throws {
        try await connection.execute(
            """
            UPDATE orders
            SET app_account_token = incoming.app_account_token,
                -- A seal that does not fit stays, for its row was changed by hand.
                seal = CASE WHEN orders.seal = audit.seal(orders) THEN audit.seal(ROW(
                    orders.bundle_id, orders.order_id, orders.user_id, orders.product_id, orders.quantity,
                    incoming.app_account_token, orders.created_at, NULL)::iap.orders)
                    ELSE orders.seal END
            FROM incoming
            WHERE incoming.app_account_token IS NOT NULL
                AND orders.bundle_id = incoming.bundle_id AND orders.order_id = incoming.order_id
                AND orders.app_account_token IS NULL
                AND (orders.user_id, orders.product_id, orders.quantity)
                    = (incoming.user_id, incoming.product_id, incoming.quantity)
            """)
    }

    private func contradicted() async throws -> [Int: Contradiction] {
        let rows = try await connection.query(
            """
            SELECT line
            FROM incoming
            JOIN orders USING (bundle_id, order_id)
            WHERE (orders.user_id, orders.product_id, orders.quantity)
                IS DISTINCT FROM (incoming.user_id, incoming.product_id, incoming.quantity)
            ORDER BY line
            """)
        return Dictionary(
            uniqueKeysWithValues: try rows.map { (try $0.decode("line", as: Int.self), .otherOrder) })
    }
}
