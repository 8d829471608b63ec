public import Foundation
import PostgreSQL
public import Reconciliation

/// Days of sales reports.
public enum SalesDays: Sendable {
    /// The days of Pacific Time that end at a moment, as many as the report looks back.
    case upTo(Date)
    case among([CalendarDay])

    /// How many days are compared, and fetched for it.
    static let compared: Int32 = 30

    var condition: SQL {
        switch self {
        case .upTo(let now):
            """
            day BETWEEN finance.pacific_day(\(now)) - \(Self.compared) AND finance.pacific_day(\(now))
            """
        case .among(let days): "day = ANY (\(days.map(\.description))::text[]::date[])"
        }
    }
}

extension LedgerSession {
    /// The sums over these days; `nil` if no sales report of theirs was read.
    public func salesFigures(of days: SalesDays) async throws(LedgerError) -> SalesFigures? {
        try await translating {
            let read = try await connection.only(
                """
                SELECT count(DISTINCT day) AS days, min(day)::text AS first, max(day)::text AS last
                FROM sales_reports
                WHERE replaced_at IS NULL AND \(days.condition)
                """)
            // Whoever reads no sales reports pays nothing for the comparison.
            guard try read.decode("days", as: Int.self) > 0 else { return nil }
            let sums = try await connection.only(
                """
                SELECT
                    coalesce(sum(units_sold), 0)::bigint AS sold, coalesce(sum(units_seen), 0)::bigint AS seen,
                    coalesce(sum(refunds_sold), 0)::bigint AS refunds_sold,
                    coalesce(sum(refunds_seen), 0)::bigint AS refunds_seen,
                    coalesce(sum(difference) FILTER (WHERE difference > 0), 0)::bigint AS missing,
                    coalesce(-sum(difference) FILTER (WHERE difference < 0), 0)::bigint AS surplus
                FROM sold_against_seen
                WHERE \(days.condition)
                """)
            return SalesFigures(
                days: try read.decode("days"), first: try read.day("first"), last: try read.day("last"),
                unitsSold: try sums.decode("sold"), unitsSeen: try sums.decode("seen"),
                refundsSold: try sums.decode("refunds_sold"), refundsSeen: try sums.decode("refunds_seen"),
                missing: try sums.decode("missing"), surplus: try sums.decode("surplus"))
        }
    }

    /// What was sold and not seen, or seen and not sold, on these days, the latest first. The days beside them are
    /// compared as well: a purchase at midnight may stand there.
    public func forEachSalesDifference(
        on days: SalesDays, _ body: (ComparedSales) throws -> Void
    ) async throws(LedgerError) {
        try await translating {
            let span = try await connection.only(
                """
                SELECT min(day)::text AS first, max(day)::text AS last
                FROM sales_reports
                WHERE replaced_at IS NULL AND \(days.condition)
                """)
            guard let first = try span.decode("first", as: String?.self),
                let last = try span.decode("last", as: String?.self)
            else { return }
            try await connection.forEachRow(
                """
                SELECT
                    day::text AS day, bundle_id, product_id, products.name AS product_name, storefront, units_sold,
                    units_seen, difference_around, refunds_sold, refunds_seen
                FROM (
                    SELECT
                        *,
                        sum(difference) OVER (
                            PARTITION BY bundle_id, product_id
                            ORDER BY day
                            RANGE BETWEEN '1 day' PRECEDING AND '1 day' FOLLOWING)::bigint AS difference_around
                    FROM sold_against_seen
                    WHERE day BETWEEN \(first)::text::date - 1 AND \(last)::text::date + 1
                ) AS compared
                LEFT JOIN products USING (bundle_id, product_id)
                WHERE (difference <> 0 OR refund_difference <> 0) AND \(days.condition)
                ORDER BY compared.day DESC, abs(difference) DESC, bundle_id, product_id, storefront
                """
            ) { row in
                try body(try ComparedSales(row))
            }
        }
    }
}

extension ComparedSales {
    fileprivate init(_ row: Row) throws {
        self.init(
            day: try row.day("day"), bundleID: try row.id("bundle_id"), productID: try row.id("product_id"),
            productName: try row.decode("product_name", as: String?.self),
            place: try row.decode("storefront", as: String?.self).map { .country($0) } ?? .everywhere,
            unitsSold: try row.decode("units_sold"), unitsSeen: try row.decode("units_seen"),
            differenceAround: try row.decode("difference_around"), refundsSold: try row.decode("refunds_sold"),
            refundsSeen: try row.decode("refunds_seen"))
    }
}
