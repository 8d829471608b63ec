import PostgreSQL

/// Takes staged deliveries into black, as if they had been claimed: what was white or excluded moves, and its case is
/// closed. What Apple said of a transaction stays: the line only adds that, when and to whom it was delivered.
struct DeliveriesImport {
    let connection: Connection
    /// How many lines are staged.
    let staged: Int

    func merge() async throws -> (taken: Int, contradicted: [Int]) {
        let taken = try await take()
        return (taken, taken < staged ? try await contradicted() : [])
    }

    private func take() async throws -> Int {
        try await connection.only(
            """
            SELECT import_deliveries(
                array_agg(
                    ROW(
                        transaction_id, bundle_id, environment, original_transaction_id, product_id, NULL, quantity,
                        purchased_at, NULL, NULL, false, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 'app_server',
                        now(), NULL, user_id, order_id, NULL, delivered_at, NULL)::iap.verified
                    ORDER BY transaction_id, bundle_id, environment)) AS taken
            FROM (
                SELECT DISTINCT ON (transaction_id, bundle_id, environment) *
                FROM incoming
                ORDER BY transaction_id, bundle_id, environment, line
            ) AS delivered
            """
        ).decode("taken", as: Int.self)
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
