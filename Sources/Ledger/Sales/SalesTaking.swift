import PostgreSQL
import Reconciliation

extension LedgerSession {
    /// Takes the staged report in one database transaction. For each day and account one report counts: the same again
    /// changes nothing, and another takes its place, unless lines of it were refused.
    public func take(_ staged: StagedSales) async throws(LedgerError) -> SalesOutcome {
        let outcome: SalesOutcome = try await translating {
            try await connection.transaction {
                let (space, number) = (try await lockSpace(), LedgerLock.sales.number)
                _ = try await connection.query("SELECT pg_advisory_xact_lock(\(space), \(number))")
                return try await SalesTaking(connection: connection, staged: staged).take()
            }
        }
        try await discardStagedSales()
        return outcome
    }
}

/// The steps by which a staged report is taken, each a statement for all its lines.
private struct SalesTaking {
    let connection: Connection
    let staged: StagedSales

    func take() async throws -> SalesOutcome {
        try await nameApps()
        try await sumUp()
        try await compareWithEarlier()
        try await replace()
        try await note()
        return SalesOutcome(days: try await days(), unknownApps: try await unknownApps())
    }

    /// Names the apps of lines: by the app's SKU if the configuration says it, otherwise by the product if only one app
    /// lists it, otherwise as the report in force names it: whoever knows fewer apps takes away none. A product that is
    /// not listed is of the app that others of its SKU are of.
    private func nameApps() async throws {
        let apps = staged.apps.sorted { $0.key < $1.key }
        try await connection.execute(
            """
            UPDATE staged_sales
            SET bundle_id = apps.bundle_id
            FROM unnest(\(apps.map(\.key)), \(apps.map(\.value.text))) AS apps (sku, bundle_id)
            WHERE staged_sales.app_sku = apps.sku
            """)
        try await nameByProducts(besides: apps.map(\.value))
        try await nameAsInForce()
        try await nameBySKU(besides: apps.map(\.value))
    }

    private func nameByProducts(besides apps: [BundleID]) async throws {
        try await connection.execute(
            """
            UPDATE staged_sales
            SET bundle_id = sellers.bundle_id
            FROM (
                SELECT product_id, min(bundle_id) AS bundle_id
                FROM products
                WHERE bundle_id <> ALL (\(apps.map(\.text)))
                GROUP BY product_id
                HAVING count(*) = 1
            ) AS sellers
            WHERE staged_sales.bundle_id IS NULL AND staged_sales.product_id = sellers.product_id
            """)
    }

    private func nameAsInForce() async throws {
        try await connection.execute(
            """
            UPDATE staged_sales
            SET bundle_id = known.bundle_id
            FROM (
                SELECT DISTINCT earlier.day, earlier.developer, sales.app_sku, sales.product_id, sales.bundle_id
                FROM sales_reports AS earlier
                JOIN sales USING (report_id)
                WHERE earlier.replaced_at IS NULL AND sales.bundle_id IS NOT NULL
                    AND (earlier.day, earlier.developer) IN (
                        SELECT staged.day::date, staged.developer
                        FROM staged_sales AS staged
                        WHERE staged.bundle_id IS NULL)
            ) AS known
            WHERE staged_sales.bundle_id IS NULL AND staged_sales.day::date = known.day
                AND staged_sales.developer = known.developer AND staged_sales.app_sku = known.app_sku
                AND staged_sales.product_id = known.product_id
            """)
    }

    private func nameBySKU(besides apps: [BundleID]) async throws {
        let named: SQL = """
            SELECT developer, app_sku, bundle_id
            FROM staged_sales
            WHERE bundle_id IS NOT NULL
            UNION ALL
            \(SalesApps.named) AND EXISTS (SELECT FROM staged_sales WHERE bundle_id IS NULL)
            """
        try await connection.execute(
            """
            UPDATE staged_sales
            SET bundle_id = sellers.bundle_id
            FROM (\(SalesApps.bySKU(among: named, besides: apps))) AS sellers
            WHERE staged_sales.bundle_id IS NULL AND staged_sales.developer = sellers.developer
                AND staged_sales.app_sku = sellers.app_sku
            """)
    }

    private func sumUp() async throws {
        try await connection.execute(
            """
            INSERT INTO incoming_sales (day, developer, bundle_id, \(Self.told), units)
            SELECT day::date, developer, bundle_id, \(Self.told), sum(units)
            FROM staged_sales
            GROUP BY 1, developer, bundle_id, \(Self.told), units < 0
            """)
        let others = staged.otherDays.sorted()
        try await connection.execute(
            """
            INSERT INTO incoming_days (day, developer, lines, units_sold, units_refunded, bundle_ids)
            SELECT
                day::date, developer, count(bundle_id), coalesce(sum(units) FILTER (WHERE units > 0), 0),
                coalesce(-sum(units) FILTER (WHERE units < 0), 0),
                coalesce(array_agg(DISTINCT bundle_id ORDER BY bundle_id) FILTER (WHERE bundle_id IS NOT NULL), '{}')
            FROM (
                SELECT
                    day, developer, bundle_id, CASE WHEN bundle_id IS NOT NULL THEN units END AS units
                FROM staged_sales
                UNION ALL
                SELECT day, developer, NULL, NULL
                FROM unnest(\(others.map(\.day.description)), \(others.map(\.developer))) AS told (day, developer)
            ) AS told
            GROUP BY day, developer
            """)
    }

    /// Reports are told apart by what Apple says, and not by which apps were known to whom.
    private func compareWithEarlier() async throws {
        try await connection.execute(
            """
            UPDATE incoming_days AS incoming
            SET standing =
                CASE
                    WHEN earlier.report_id IS NULL THEN 'new'
                    WHEN \(saysTheSame(as: "earlier")) THEN
                        CASE WHEN \(isOfTheSameApps(as: "earlier")) THEN 'unchanged' ELSE 'replaced' END
                    WHEN \(Int64(staged.refused)) > 0 THEN 'kept'
                    WHEN EXISTS (
                        SELECT FROM sales_reports AS older
                        WHERE older.day = day.day AND older.developer = day.developer AND older.replaced_at IS NOT NULL
                            AND \(saysTheSame(as: "older")))
                    THEN 'outdated'
                    ELSE 'replaced'
                END
            FROM incoming_days AS day
            LEFT JOIN sales_reports AS earlier
                ON earlier.day = day.day AND earlier.developer = day.developer AND earlier.replaced_at IS NULL
            WHERE day.day = incoming.day AND day.developer = incoming.developer
            """)
    }

    private func saysTheSame(as report: SQL) -> SQL {
        """
        (\(report).refused = \(Int64(staged.refused))
            AND NOT EXISTS (
                (\(Self.rows("incoming_sales")) WHERE \(Self.isOfDay)
                EXCEPT \(Self.rows("sales")) WHERE sales.report_id = \(report).report_id)
                UNION ALL
                (\(Self.rows("sales")) WHERE sales.report_id = \(report).report_id
                EXCEPT \(Self.rows("incoming_sales")) WHERE \(Self.isOfDay))))
        """
    }

    /// Of reports that say the same.
    private func isOfTheSameApps(as report: SQL) -> SQL {
        """
        NOT EXISTS (
            SELECT FROM incoming_sales
            JOIN sales USING (app_sku, product_id)
            WHERE sales.report_id = \(report).report_id AND \(Self.isOfDay)
                AND sales.bundle_id IS DISTINCT FROM incoming_sales.bundle_id)
        """
    }

    private static let isOfDay: SQL =
        "incoming_sales.day = incoming.day AND incoming_sales.developer = incoming.developer"

    /// The columns that tell apart the lines of a day, as Apple says them.
    private static let told: SQL = """
        app_sku, product_id, type, storefront, price_milliunits, currency, proceeds_milliunits, proceeds_currency
        """

    private static func rows(_ table: String) -> SQL { "SELECT \(told), units FROM \(identifier: table)" }

    private func replace() async throws {
        try await connection.execute(
            """
            UPDATE sales_reports
            SET replaced_at = now()
            FROM incoming_days AS incoming
            WHERE sales_reports.day = incoming.day AND sales_reports.developer = incoming.developer
                AND sales_reports.replaced_at IS NULL AND incoming.standing = 'replaced'
            """)
        try await connection.execute(
            """
            WITH taken AS (
                INSERT INTO sales_reports (day, developer, bundle_ids, file, lines, refused)
                SELECT day, developer, bundle_ids, \(staged.file), lines, \(Int64(staged.refused))
                FROM incoming_days
                WHERE standing IN ('new', 'replaced')
                RETURNING report_id, day, developer
            )
            INSERT INTO sales (report_id, bundle_id, \(Self.told), units)
            SELECT report_id, bundle_id, \(Self.told), units
            FROM incoming_sales
            JOIN taken USING (day, developer)
            """)
    }

    /// Writes into the audit trail what was taken, and what it replaced.
    private func note() async throws {
        _ = try await connection.query(
            """
            SELECT log_event(
                CASE standing WHEN 'new' THEN 'sales_read' ELSE 'sales_replaced' END, session_user, NULL, now(),
                jsonb_build_object(
                    'day', day, 'developer', developer, 'file', \(staged.file), 'lines', lines,
                    'units_sold', units_sold, 'units_refunded', units_refunded, 'refused', \(Int64(staged.refused))))
            FROM incoming_days
            WHERE standing IN ('new', 'replaced')
            ORDER BY day, developer
            """)
    }

    private func days() async throws -> [SalesDayOutcome] {
        try await connection.query(
            """
            SELECT day::text AS day, developer, standing, lines, units_sold, units_refunded
            FROM incoming_days
            ORDER BY incoming_days.day, developer
            """
        ).map { row in
            SalesDayOutcome(
                day: try row.day("day"), developer: try row.decode("developer"),
                standing: try row.word("standing"), lines: try row.decode("lines"),
                unitsSold: try row.decode("units_sold"), unitsRefunded: try row.decode("units_refunded"))
        }
    }

    private func unknownApps() async throws -> [String: Int] {
        try await connection.query(
            "SELECT app_sku, count(*) AS lines FROM staged_sales WHERE bundle_id IS NULL GROUP BY app_sku"
        ).values(of: "lines", by: "app_sku")
    }
}
