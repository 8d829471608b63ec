public import Foundation
import PostgreSQL
public import Reconciliation

/// Which purchases of `white` are judged: those for which a delivery is expected.
extension LedgerSession {
    /// How many white transactions for which a delivery is expected are still within their grace.
    public func pendingCount(
        _ deliveries: [ExpectedDelivery], toldUpTo told: Date
    ) async throws(LedgerError) -> Int {
        try await translating {
            try await connection.only(
                """
                SELECT count(*) AS pending
                FROM white
                LEFT JOIN products USING (bundle_id, product_id)
                \(Self.expected(deliveries))
                WHERE white.purchased_at > \(told) - expected.grace * interval '1 second' AND \(Self.isJudged)
                """
            ).decode("pending", as: Int.self)
        }
    }

    /// Joins what is expected to `white` and its `products`, as `expected`. It leaves out what is of another app, or of
    /// another environment than the app's.
    static func expected(_ deliveries: [ExpectedDelivery]) -> SQL {
        """
        JOIN unnest(
            \(deliveries.map(\.bundleID.text)), \(deliveries.map(\.environment.rawValue)),
            \(deliveries.map { $0.productType?.rawValue ?? "unknown" }), \(deliveries.map(\.grace)),
            \(deliveries.map(\.mode?.rawValue)), \(deliveries.map(\.from))
        ) AS expected (bundle_id, environment, product_type, grace, mode, judged_from)
            ON expected.bundle_id = white.bundle_id AND expected.environment = white.environment
            -- As iap.connect notes it.
            AND expected.product_type
                = coalesce(iap.type_by(white.product_type, white.source, products.type), 'unknown')
        """
    }

    /// Whether a delivery of the purchase in hand is expected, so that without one it is lost.
    static let isJudged: SQL = "expected.mode <> 'ignore' AND \(isBoughtSince)"

    /// Whether the purchase in hand was bought since deliveries of its kind are seen. A restored purchase has a new
    /// date of purchase, and still the original one: as in the rule `beforeStart`.
    static let isBoughtSince: SQL = """
        white.purchased_at >= expected.judged_from
        AND (
            expected.product_type NOT IN ('non_consumable', 'unknown')
            OR (expected.product_type = 'unknown' AND white.expires_at IS NOT NULL)
            OR coalesce(white.original_purchased_at >= expected.judged_from, true))
        """

    /// Whether an earlier period of the subscription in hand is without access too: that one stands for them all. In words
    /// that the index of white does not answer to: with its bounds of time that looks like less than the subscription,
    /// and all that is white of the app before would be read for each period.
    static let hasEarlierPeriod: SQL = """
        EXISTS (
            SELECT FROM transactions AS earlier
            WHERE starts_with(earlier.place, 'white')
                AND iap.is_of_original(
                    earlier.transaction_id, earlier.original_transaction_id, white.original_transaction_id)
                AND earlier.bundle_id = white.bundle_id AND earlier.environment = white.environment
                AND earlier.purchased_at >= expected.judged_from
                AND (earlier.purchased_at, earlier.transaction_id) < (white.purchased_at, white.transaction_id))
        """
}
