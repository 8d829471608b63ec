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
        let connections = try await connections(of: apps)
        return apps.flatMap { $0.expectedDeliveries(connections) }
    }

    /// Since when the apps deliver in ways that the job sees, each in its environment, as far as that was noted.
    private func connections(of apps: [App]) async throws(LedgerError) -> Connections {
        let own: SQL = """
            unnest(\(apps.map(\.bundleID.text)), \(apps.map(\.environment.rawValue))) AS app (bundle_id, environment)
            """
        return try await translating {
            var connections = Connections()
            for row in try await connection.query(
                "SELECT bundle_id, product_type, connected_at FROM connections JOIN \(own) USING (bundle_id, environment)"
            ) {
                let type = try row.expectedType()
                connections.claims[try row.id("bundle_id"), default: [:]][type] = try row.decode(
                    "connected_at", as: Date.self)
            }
            for row in try await connection.query(Self.firstGrants(own)) {
                connections.entitlements[try row.id("bundle_id")] = try row.decode("first_granted_at", as: Date.self)
            }
            return connections
        }
    }

    /// When each app first said what it has granted. The index is asked for one app at a time, since there may be
    /// millions of subscribers. A grant names no environment: if its purchase is known only in another than the app's,
    /// it is a tester's.
    private static func firstGrants(_ own: SQL) -> SQL {
        """
        SELECT app.bundle_id, granted.first_granted_at
        FROM \(own)
        CROSS JOIN LATERAL (
            SELECT first_granted_at
            FROM entitlements
            WHERE entitlements.bundle_id = app.bundle_id
                AND coalesce(
                    (
                        SELECT bool_or(known.environment = app.environment)
                        FROM transactions AS known
                        WHERE iap.is_of_original(
                                known.transaction_id, known.original_transaction_id,
                                entitlements.original_transaction_id)
                            AND known.bundle_id = app.bundle_id
                    ),
                    true)
            ORDER BY first_granted_at
            LIMIT 1
        ) AS granted
        """
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

    /// The white transactions that are not judged, by app, product type and cause, with their money.
    public func unjudged(_ deliveries: [ExpectedDelivery]) async throws(LedgerError) -> [Unjudged] {
        try await translating {
            let rows = try await connection.query(
                """
                SELECT
                    white.bundle_id, expected.product_type, cause, price.currency,
                    grouping(price.currency) = 1 AS is_total,
                    count(*) AS transactions, count(*) - count(price.milliunits) AS unpriced,
                    sum(price.milliunits)::bigint AS milliunits,
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
                CROSS JOIN LATERAL (
                    SELECT
                        \(BookedPrice.milliunits(of: "white")) AS milliunits,
                        \(BookedPrice.currency(of: "white")) AS currency
                ) AS price
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
                        (white.bundle_id, expected.product_type, cause, price.currency))
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
                    customers: try row.decode("customers", as: Int.self), money: money,
                    unpriced: try row.decode("unpriced", as: Int.self)))
            money = []
        }
        return found
    }
}

extension Row {
    /// `nil` if the type of a product is not known, for which the database says `unknown`.
    fileprivate func expectedType() throws -> ProductType? {
        try decode("product_type", as: String.self) == "unknown" ? nil : word("product_type")
    }
}
