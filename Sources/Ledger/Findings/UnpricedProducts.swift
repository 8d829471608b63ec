import Foundation
import PostgreSQL
public import Reconciliation

extension LedgerSession {
    /// The products without a price; those that were bought most come first.
    ///
    /// - Parameter isOwedOnly: whether only what is white counts, and not all that was ever bought.
    public func unpricedProducts(isOwedOnly: Bool) async throws(LedgerError) -> [UnpricedProduct] {
        // Found by the index of what is white: what is black may be ten million.
        let wanted: SQL = isOwedOnly ? "bought.place = 'white'" : "true"
        return try await translating {
            let rows = try await connection.query(
                """
                SELECT
                    bought.bundle_id, bought.product_id, products.name,
                    coalesce(products.type, min(bought.product_type)) AS type, count(*) AS transactions,
                    min(bought.purchased_at) AS first, max(bought.purchased_at) AS last
                FROM transactions AS bought
                LEFT JOIN products USING (bundle_id, product_id)
                WHERE bought.booked_as = 'unknown' AND bought.price_milliunits IS NULL
                    AND products.list_price_milliunits IS NULL
                    AND \(wanted)
                    AND bought.reason IS DISTINCT FROM 'foreign_bundle'
                GROUP BY bought.bundle_id, bought.product_id, products.name, products.type
                ORDER BY transactions DESC, bought.bundle_id, bought.product_id
                """)
            return try rows.map { row in
                UnpricedProduct(
                    bundleID: try row.id("bundle_id"), productID: try row.id("product_id"),
                    type: try row.wordIfAny("type"),
                    name: try row.decode("name", as: String?.self),
                    transactions: try row.decode("transactions", as: Int.self),
                    first: try row.decode("first"), last: try row.decode("last"))
            }
        }
    }
}
