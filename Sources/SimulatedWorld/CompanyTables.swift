import AppStoreSimulator
import Foundation
import PostgreSQL

/// The tables of a company whose server uses the job's functions only to hand in receipts.
public enum CompanyTables {
    static let schema = """
        CREATE SCHEMA IF NOT EXISTS company;
        CREATE TABLE IF NOT EXISTS company.orders (
            bundle_id text, order_id text PRIMARY KEY, user_id text, product_id text, created_at timestamptz);
        CREATE TABLE IF NOT EXISTS company.delivered (
            entry bigint GENERATED ALWAYS AS IDENTITY, bundle_id text, transaction_id text,
            original_transaction_id text, product_id text, quantity integer, purchased_at timestamptz, user_id text,
            order_id text, delivered_at timestamptz);
        CREATE TABLE IF NOT EXISTS company.entitlements (
            bundle_id text, original_transaction_id text PRIMARY KEY, user_id text, entitled_until timestamptz,
            revoked_at timestamptz, changed timestamptz);
        """

    /// A source that the night pulls: its kind, its query, and its watermark.
    public typealias Source = (kind: String, query: String, watermark: String)

    public static let sources: [Source] = [
        ("orders", "SELECT * FROM company.orders", "created_at"),
        ("delivered", "SELECT * FROM company.delivered", "entry"),
        ("entitlements", "SELECT * FROM company.entitlements", "changed"),
    ]

    /// Sections for the job's configuration.
    public static func configuration(conninfo: String) -> String {
        sources.map { source in
            """

            [source \(source.kind)]
            conninfo = \(conninfo)
            query = \(source.query)
            watermark = \(source.watermark)

            """
        }.joined()
    }
}

/// What servers with their own tables write on a day.
extension WorldDays {
    func keep(_ orders: [WorldOrder]) async throws {
        try await connection.execute(
            """
            INSERT INTO company.orders (bundle_id, order_id, user_id, product_id, created_at)
            SELECT *
            FROM unnest(
                \(orders.map(\.bundleID)), \(orders.map(\.id)), \(orders.map(\.userID)), \(orders.map(\.productID)),
                \(orders.map(\.at)))
            """)
    }

    /// Writes claims. Goods that could not be credited are not written; a repeated claim makes a second row.
    func keep(_ claims: [WorldClaim]) async throws {
        let kept = claims.filter { $0.kind != .rolledBack }
        try await connection.execute(
            """
            INSERT INTO company.delivered (
                bundle_id, transaction_id, original_transaction_id, product_id, quantity, purchased_at, user_id,
                order_id, delivered_at)
            SELECT *
            FROM unnest(
                \(kept.map(\.bundleID)), \(kept.map(\.transaction.id)), \(kept.map(\.transaction.originalID)),
                \(kept.map(\.transaction.productID)), \(kept.map { Int32($0.transaction.quantity) }),
                \(kept.map(\.transaction.purchasedAt)), \(kept.map(\.userID)), \(kept.map(\.orderID)),
                \(kept.map(\.at)))
            """)
    }

    func keep(_ grants: [WorldGrant]) async throws {
        for grant in grants { try await keep(grant) }
    }

    private func keep(_ grant: WorldGrant) async throws {
        switch grant.word {
        case .granted(let until, let user):
            try await connection.execute(
                """
                INSERT INTO company.entitlements AS kept (
                    bundle_id, original_transaction_id, user_id, entitled_until, changed)
                VALUES (\(grant.bundleID), \(grant.originalID), \(user), \(until), \(grant.at))
                ON CONFLICT (original_transaction_id) DO UPDATE
                SET user_id = EXCLUDED.user_id, revoked_at = NULL, changed = EXCLUDED.changed,
                    entitled_until = CASE WHEN kept.revoked_at IS NULL
                        THEN greatest(kept.entitled_until, EXCLUDED.entitled_until)
                        ELSE EXCLUDED.entitled_until END
                """)
        case .revoked:
            try await connection.execute(
                """
                UPDATE company.entitlements
                SET revoked_at = \(grant.at), changed = \(grant.at)
                WHERE original_transaction_id = \(grant.originalID)
                """)
        }
    }
}
