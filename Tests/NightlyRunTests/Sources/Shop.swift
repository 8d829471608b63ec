import Job
import Verification
import AppStoreSimulator
import Foundation
import PostgreSQL
import Reconciliation
import TestSupport

/// A company with a schema of its own: it knows none of our tables and calls none of our functions.
struct Shop {
    let database: ScratchDatabase

    static let schema = """
        CREATE TABLE orders (
            order_no text PRIMARY KEY, member text NOT NULL, sku text NOT NULL, changed timestamptz NOT NULL);
        CREATE TABLE wallet_entries (
            entry bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, apple_id text, member text NOT NULL, sku text,
            bought timestamptz, credited timestamptz NOT NULL, app text NOT NULL DEFAULT 'com.example.game');
        CREATE TABLE uploads (
            member text, body text NOT NULL, order_no text, apple_id text, arrived timestamptz NOT NULL);
        CREATE TABLE subscriptions (
            original text NOT NULL, member text NOT NULL, expires_at timestamptz, ended timestamptz,
            changed timestamptz NOT NULL);
        CREATE TABLE catalogue (sku text PRIMARY KEY, kind text, title text, cents bigint);
        """

    /// As a company's configuration would say it.
    var sources: [SourceSettings] {
        [
            source(
                .products,
                "SELECT 'com.example.game' AS bundle_id, sku AS product_id, kind AS type, title AS name, "
                    + "cents * 10 AS list_price_milliunits, 'USD' AS currency FROM catalogue", nil),
            source(
                .orders,
                "SELECT 'com.example.game' AS bundle_id, order_no AS order_id, member AS user_id, sku AS product_id, "
                    + "changed AS created_at, changed FROM orders", "changed"),
            source(
                .receipts,
                """
                SELECT 'com.example.game' AS bundle_id, member AS user_id, body AS payload, order_no AS order_id,
                    apple_id AS transaction_id, arrived AS submitted_at
                FROM uploads -- all of them
                """, "submitted_at"),
            source(
                .delivered,
                "SELECT app AS bundle_id, apple_id AS transaction_id, sku AS product_id, bought AS purchased_at, "
                    + "credited AS delivered_at, member AS user_id, entry FROM wallet_entries", "entry"),
            source(
                .entitlements,
                "SELECT 'com.example.game' AS bundle_id, original AS original_transaction_id, member AS user_id, "
                    + "expires_at AS entitled_until, ended AS revoked_at, changed FROM subscriptions", "changed"),
        ]
    }

    func source(_ kind: ImportKind, _ text: String, _ watermark: String?) -> SourceSettings {
        SourceSettings(
            name: kind.rawValue, kind: kind,
            origin: .query(
                SourceQuery(
                    conninfo: database.conninfo, text: text, watermark: watermark, statementTimeout: 5)))
    }

    func run(_ sql: SQL) async throws {
        let connection = try await database.connect()
        defer { connection.close() }
        try await connection.execute(sql)
    }

    func sell(_ sku: String = "gems.60", _ kind: String = "consumable") async throws {
        try await run("INSERT INTO catalogue VALUES (\(sku), \(kind), \(sku), 99)")
    }

    func upload(
        _ payload: String, by member: String = "anna", for transaction: SimulatedTransaction? = nil,
        order: String? = nil, at arrived: Date
    ) async throws {
        try await run(
            "INSERT INTO uploads VALUES (\(member), \(payload), \(order), \(transaction?.id), \(arrived))")
    }

    func order(_ number: String, by member: String = "anna", sku: String = "gems.60", at: Date) async throws {
        try await run("INSERT INTO orders VALUES (\(number), \(member), \(sku), \(at))")
    }

    func credit(_ transaction: SimulatedTransaction, to member: String = "anna", at: Date) async throws {
        try await run(
            """
            INSERT INTO wallet_entries (apple_id, member, sku, bought, credited)
            VALUES (\(transaction.id), \(member), \(transaction.productID), \(transaction.purchasedAt), \(at))
            """)
    }

    func extend(
        _ original: String, of member: String = "anna", until: Date?, ended: Date? = nil, at: Date
    ) async throws {
        try await run("INSERT INTO subscriptions VALUES (\(original), \(member), \(until), \(ended), \(at))")
    }
}

/// A play whose company is connected by sources alone.
func withShop<Value>(_ body: (Play, Shop) async throws -> Value) async throws -> Value {
    try await withPlay { play in
        try await withScratchDatabase(empty: true) { database in
            let shop = Shop(database: database)
            let connection = try await database.connect()
            try await connection.executeScript(unsafe: Shop.schema)
            connection.close()
            try await shop.sell()
            var play = play
            let app = play.settings.apps[0].app
            // The company's books go back further than the tool.
            play.settings.apps[0].app = App(
                bundleID: app.bundleID, environment: app.environment, grace: app.grace,
                since: play.began - 1000 * 3600, delivery: [.autoRenewable: .entitlement])
            play.settings.importDatabase = play.database.conninfo(as: "iap_import")
            play.settings.sources = shop.sources
            return try await body(play, shop)
        }
    }
}
