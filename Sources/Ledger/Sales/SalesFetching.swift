public import Foundation
import PostgreSQL
public import Reconciliation

/// What fetching Apple's sales report of a day came to.
public enum SalesFetch: Hashable, Sendable {
    /// The report's lines, of which some may have been refused.
    case fetched(lines: Int, refused: Int)
    /// Apple has none yet.
    case notThere
    case problem(String)

    public var isFetched: Bool { if case .fetched = self { true } else { false } }

    public var problem: String? { if case .problem(let why) = self { why } else { nil } }

    fileprivate var lines: (all: Int, refused: Int) {
        if case .fetched(let lines, let refused) = self { (lines, refused) } else { (0, 0) }
    }
}

extension LedgerSession {
    /// The days, in Apple's time, that are compared and whose report was not fetched yet, or has lines of an app that
    /// was not known then and is by now; the oldest first. Apple keeps a report for a year, and has it from eight
    /// o'clock of the next morning on.
    ///
    /// - Parameter apps: by the SKUs that the configuration says they have.
    public func missingSalesDays(
        of vendorNumber: String, apps: [String: BundleID], now: Date
    ) async throws(LedgerError) -> [CalendarDay] {
        try await translating {
            try await connection.query(
                """
                SELECT days.day::text AS day
                FROM (SELECT finance.pacific_day(\(now)) AS day) AS today
                -- Not a moment of each day: some clocks are put forward at midnight.
                CROSS JOIN generate_series(1, \(SalesDays.compared)) AS before (days)
                CROSS JOIN LATERAL (SELECT today.day - before.days AS day) AS days
                WHERE NOT EXISTS (
                    SELECT FROM sales_fetches
                    WHERE vendor_number = \(vendorNumber) AND sales_fetches.day = days.day AND fetched_at IS NOT NULL)
                    OR EXISTS (
                        SELECT FROM sales_reports
                        JOIN sales USING (report_id)
                        WHERE sales_reports.day = days.day AND sales_reports.replaced_at IS NULL
                            AND sales.bundle_id IS NULL
                            AND (
                                sales.app_sku = ANY (\(Array(apps.keys)))
                                OR (sales_reports.developer, sales.app_sku) IN (
                                    SELECT developer, app_sku
                                    FROM (\(SalesApps.bySKU(among: SalesApps.named, besides: Array(apps.values))))
                                        AS sellers)
                                OR EXISTS (
                                    SELECT FROM products
                                    WHERE products.product_id = sales.product_id
                                        AND products.bundle_id <> ALL (\(apps.values.map(\.text)))
                                    HAVING count(*) = 1)))
                ORDER BY days.day
                """
            ).map { try $0.day("day") }
        }
    }

    /// Writes down what fetching the report of a day came to.
    public func note(
        _ fetch: SalesFetch, of vendorNumber: String, on day: CalendarDay, at now: Date
    ) async throws(LedgerError) {
        try await translating {
            let fetchedAt = fetch.isFetched ? now : nil
            _ = try await connection.execute(
                """
                INSERT INTO sales_fetches AS known (vendor_number, day, tried_at, fetched_at, lines, refused, problem)
                VALUES (
                    \(vendorNumber), \(day.description)::text::date, \(now), \(fetchedAt), \(Int64(fetch.lines.all)),
                    \(Int64(fetch.lines.refused)), \(fetch.problem))
                ON CONFLICT (vendor_number, day) DO UPDATE
                SET tried_at = EXCLUDED.tried_at, fetched_at = EXCLUDED.fetched_at, lines = EXCLUDED.lines,
                    refused = EXCLUDED.refused, problem = EXCLUDED.problem
                WHERE known.fetched_at IS NULL OR EXCLUDED.fetched_at IS NOT NULL
                """)
        }
    }

    /// What a night fetched of sales reports, as the pull of a source; `nil` if there was nothing to fetch.
    public func salesPull(of vendorNumber: String, at now: Date) async throws(LedgerError) -> SourcePull? {
        try await translating {
            try await connection.query(
                """
                SELECT sum(lines - refused)::bigint AS taken, sum(refused)::bigint AS refused,
                    (array_agg(problem ORDER BY day DESC) FILTER (WHERE problem IS NOT NULL))[1] AS problem
                FROM sales_fetches
                WHERE vendor_number = \(vendorNumber) AND tried_at = \(now)
                HAVING count(*) > 0
                """
            ).first.map { row in
                SourcePull(
                    name: "sales", taken: try row.decode("taken"), alreadyThere: 0, refused: try row.decode("refused"),
                    problem: try row.decode("problem"))
            }
        }
    }
}
