import PostgreSQL
import Reconciliation

/// What a purchase cost, wherever that is told: as finance has booked it. If its price was unknown then, it is today's
/// list price, which stands beside it as `products`.
enum BookedPrice {
    /// - Parameter purchase: what a row of the ledger is called in the query.
    static func milliunits(of purchase: SQL) -> SQL {
        "coalesce(\(purchase).booked_milliunits, \(listed(purchase)))"
    }

    static func currency(of purchase: SQL) -> SQL {
        """
        CASE WHEN \(purchase).booked_milliunits IS NULL THEN products.currency ELSE \(purchase).booked_currency END
        """
    }

    /// Whether the price is the list's, whatever was paid.
    static func isListed(_ purchase: SQL) -> SQL { "\(purchase).booked_as IN ('list', 'unknown')" }

    /// The list price times the quantity. Unknown if it is more than is booked: the sums would be more than PostgreSQL
    /// holds.
    private static func listed(_ purchase: SQL) -> SQL {
        """
        CASE WHEN products.list_price_milliunits::numeric * \(purchase).quantity <= \(Money.most)
            THEN products.list_price_milliunits * \(purchase).quantity END
        """
    }
}
