import Foundation
import PostgreSQL
import SimulatedWorld

/// What the world's company has in its own tables, for the night to pull: what its clients uploaded, some of its
/// orders, what it credited by hand, and what it granted.
struct Shop {
    let world: World

    private static let schema = """
        CREATE SCHEMA shop;
        CREATE TABLE shop.uploads AS
        SELECT bundle_id, user_id, payload, uploads.transaction_id, uploads.order_id, submitted_at
        FROM iap.receipts
        JOIN iap.uploads USING (bucket, receipt_id);
        CREATE TABLE shop.orders AS
        SELECT bundle_id, order_id, user_id, product_id, quantity, app_account_token, created_at
        FROM iap.orders
        WHERE hashtextextended(order_id, 0) % 3 = 0;
        DELETE FROM iap.orders WHERE (bundle_id, order_id) IN (SELECT bundle_id, order_id FROM shop.orders);
        CREATE TABLE shop.wallet (
            entry bigint GENERATED ALWAYS AS IDENTITY, bundle_id text, transaction_id text, product_id text,
            user_id text, purchased_at timestamptz, delivered_at timestamptz);
        CREATE TABLE shop.subscriptions (
            bundle_id text, original_transaction_id text, user_id text, entitled_until timestamptz);
        """

    /// Makes the tables in the world's database. Every fifth lost order was credited by hand.
    func open(in connection: Connection) async throws {
        try await connection.executeScript(unsafe: Self.schema)
        let credited = world.truth().lost.enumerated().filter { $0.offset % 5 == 0 }.map(\.element)
        try await connection.execute(
            """
            INSERT INTO shop.wallet (bundle_id, transaction_id, product_id, user_id, purchased_at, delivered_at)
            SELECT *, \(Theatre.now - 600)
            FROM unnest(
                \(credited.map(\.bundleID)), \(credited.map(\.transactionID)), \(credited.map(\.productID)),
                \(credited.map(\.userID)), \(credited.map(\.purchasedAt)))
            """)
        try await connection.execute(
            """
            INSERT INTO shop.subscriptions
            SELECT \(World.apps.first?.bundleID), 'granted-' || number, 'user-' || number,
                \(Theatre.now) + number * interval '1 day'
            FROM generate_series(1, 40) AS number
            """)
    }

    /// The configuration's sections.
    static func sections(conninfo: String) -> [String: [String: String]] {
        let watermarks = [
            "receipts": "submitted_at", "orders": "created_at", "delivered": "entry", "entitlements": nil,
        ]
        let tables = [
            "receipts": "uploads", "orders": "orders", "delivered": "wallet", "entitlements": "subscriptions",
        ]
        return Dictionary(
            uniqueKeysWithValues: tables.map { kind, table in
                var keys = ["conninfo": conninfo, "query": "SELECT * FROM shop.\(table)"]
                if let watermark = watermarks[kind] ?? nil { keys["watermark"] = watermark }
                return ("source \(kind)", keys)
            })
    }
}
