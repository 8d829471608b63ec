import PostgreSQL
import Reconciliation

extension LedgerSession {
    /// The apps' own orders of that id.
    func orders(named id: String) async throws -> [KnownOrder] {
        try await connection.query(
            """
            SELECT bundle_id, order_id, user_id, product_id, quantity, created_at
            FROM orders
            WHERE order_id = \(id)
            ORDER BY bundle_id
            LIMIT \(Lookup.rowLimit)
            """
        ).map {
            KnownOrder(
                bundleID: try $0.decode("bundle_id"), orderID: try $0.decode("order_id"),
                userID: try $0.decode("user_id"), productID: try $0.decode("product_id"),
                quantity: Int(try $0.decode("quantity", as: Int32.self)), createdAt: try $0.decode("created_at"))
        }
    }

    /// What is known of a user, if anything is: by the word of `iap.is_known_user`, or because something is owed to
    /// them.
    func user(_ id: String, isOwed: Bool) async throws -> KnownUser? {
        let deliveries = try await deliveries(to: id)
        let counts = try await connection.only(
            """
            SELECT
                count(*) AS receipts, count(*) FILTER (WHERE state = 'waiting') AS waiting,
                count(*) FILTER (WHERE state = 'watched') AS watched
            FROM receipts
            WHERE user_id = \(id)
            """)
        let isKnown: Bool = try await connection.only("SELECT iap.is_known_user(\(id)) AS is_known").decode("is_known")
        let user = KnownUser(
            deliveries: deliveries, waitingReceipts: try counts.decode("waiting"),
            watchedReceipts: try counts.decode("watched"), receipts: try counts.decode("receipts"))
        return isKnown || isOwed ? user : nil
    }

    private func deliveries(to userID: String) async throws -> [KnownUser.Delivered] {
        try await connection.query(
            """
            SELECT
                transaction_id, bundle_id, environment, product_id, user_id, order_id, delivered_by, delivered_at,
                refunded_at
            FROM black
            WHERE user_id = \(userID)
            ORDER BY delivered_at DESC, transaction_id
            LIMIT 20
            """
        ).map {
            KnownUser.Delivered(
                key: try TransactionKey($0), productID: try $0.id("product_id"),
                delivery: try Delivery($0))
        }
    }
}
