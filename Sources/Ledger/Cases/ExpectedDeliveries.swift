public import Foundation
import PostgreSQL
public import Reconciliation

extension LedgerSession {
    /// Notes which apps have begun to deliver in ways that the job sees since the books were closed last.
    public func noteConnections() async throws(LedgerError) {
        try await translating { _ = try await connection.query("SELECT iap.connect()") }
    }

    /// What is expected of the apps' servers.
    public func expectedDeliveries(of apps: [App]) async throws(LedgerError) -> [ExpectedDelivery] {
        let connections = try await connections()
        return apps.flatMap { $0.expectedDeliveries(connections) }
    }

    /// Since when apps deliver in ways that the job sees, as far as that was noted.
    public func connections() async throws(LedgerError) -> Connections {
        try await translating {
            var connections = Connections()
            for row in try await connection.query("SELECT bundle_id, product_type, connected_at FROM connections") {
                let type = try row.expectedType()
                connections.claims[try row.id("bundle_id"), default: [:]][type] = try row.decode(
                    "connected_at", as: Date.self)
            }
            // By the index, an app at a time: there may be millions of subscribers.
            let rows = try await connection.query(
                """
                WITH RECURSIVE apps AS (
                    SELECT min(bundle_id) AS bundle_id FROM entitlements
                    UNION ALL
                    SELECT (SELECT min(bundle_id) FROM entitlements WHERE entitlements.bundle_id > apps.bundle_id)
                    FROM apps
                    WHERE bundle_id IS NOT NULL
                )
                SELECT
                    bundle_id,
                    (
                        SELECT min(first_granted_at) FROM entitlements
                        WHERE entitlements.bundle_id = apps.bundle_id
                    ) AS first_granted_at
                FROM apps
                WHERE bundle_id IS NOT NULL
                """)
            for row in rows {
                connections.entitlements[try row.id("bundle_id")] = try row.decode("first_granted_at", as: Date.self)
            }
            return connections
        }
    }

    /// Moves what the apps' servers have granted from white to black, and back what is granted no more.
    public func coverEntitled(runID: Int64, now: Date) async throws(LedgerError) {
        try await translating {
            var uncovered: Int64
            repeat {
                uncovered = try await connection.only(
                    "SELECT iap.uncover(\(runID), \(now), \(Self.coveredAtOnce)) AS count"
                ).decode("count")
            } while uncovered > 0
            var covered: Int64
            repeat {
                covered = try await connection.only(
                    "SELECT iap.cover_entitled(\(runID), \(now), \(Self.coveredAtOnce)) AS count"
                ).decode("count")
            } while covered > 0
        }
    }

    private static let coveredAtOnce: Int32 = 5000

    /// The white transactions that are not judged, by app, product type and why, with their money.
    public func unjudged(_ deliveries: [ExpectedDelivery]) async throws(LedgerError) -> [Unjudged] {
        try await translating {
            let rows = try await connection.query(
                """
                SELECT
                    white.bundle_id, expected.product_type, cause, white.booked_currency AS currency,
                    grouping(white.booked_currency) = 1 AS is_total,
                    count(*) AS transactions, sum(white.booked_milliunits)::bigint AS milliunits,
                    count(DISTINCT coalesce(white.admitted_user_id, seen.user_id)) AS customers
                FROM white
                LEFT JOIN products USING (bundle_id, product_id)
                \(Self.expected(deliveries))
                CROSS JOIN LATERAL (
                    SELECT CASE
                        WHEN expected.mode IS NULL THEN 'not_connected' WHEN expected.mode = 'ignore' THEN 'ignored'
                        WHEN NOT (\(Self.isBoughtSince)) THEN 'before_connected'
                    END AS cause
                ) AS why
                LEFT JOIN LATERAL (
                    SELECT sightings.user_id
                    FROM sightings
                    WHERE sightings.transaction_id = white.transaction_id AND sightings.bundle_id = white.bundle_id
                        AND sightings.environment = white.environment AND sightings.user_id IS NOT NULL
                    ORDER BY sightings.uploaded_at, sightings.receipt_id
                    LIMIT 1
                ) AS seen ON true
                WHERE cause IS NOT NULL
                GROUP BY
                    GROUPING SETS (
                        (white.bundle_id, expected.product_type, cause),
                        (white.bundle_id, expected.product_type, cause, white.booked_currency))
                ORDER BY white.bundle_id, expected.product_type, cause, is_total, currency
                """)
            return try Self.unjudged(rows)
        }
    }

    /// The rows of each currency come before the one of all.
    private static func unjudged(_ rows: [Row]) throws -> [Unjudged] {
        var found: [Unjudged] = []
        var money: [Money] = []
        for row in rows {
            guard try row.decode("is_total", as: Bool.self) else {
                if let sum = try row.money("milliunits", "currency") { money.append(sum) }
                continue
            }
            found.append(
                Unjudged(
                    bundleID: try row.id("bundle_id"), productType: try row.expectedType(),
                    cause: try row.word("cause"),
                    transactions: try row.decode("transactions", as: Int.self),
                    customers: try row.decode("customers", as: Int.self), money: money))
            money = []
        }
        return found
    }
}

extension Row {
    /// `nil` where the type of a product is not known, of which the database says `unknown`.
    fileprivate func expectedType() throws -> ProductType? {
        try decode("product_type", as: String.self) == "unknown" ? nil : word("product_type")
    }
}
