import PostgreSQL
import Reconciliation

/// Which app is meant by the SKU that each line of a sales report bears (`Parent Identifier`), as far as other lines of
/// the account tell.
enum SalesApps {
    /// The lines of the reports in force that are known to be of an app.
    static let named: SQL = """
        SELECT developer, app_sku, sales.bundle_id
        FROM sales_reports
        JOIN sales USING (report_id)
        WHERE replaced_at IS NULL AND sales.bundle_id IS NOT NULL
        """

    /// The app of each SKU of which these lines name one alone. Two apps may sell a product of one id, and only one of
    /// them list it: then that one seems to have two SKUs, and neither tells.
    ///
    /// - Parameter others: the apps whose SKU the configuration says: none else is theirs.
    static func bySKU(among named: SQL, besides others: [BundleID]) -> SQL {
        """
        SELECT developer, app_sku, min(bundle_id) AS bundle_id
        FROM (
            SELECT *, count(*) OVER (PARTITION BY developer, bundle_id) AS skus
            FROM (SELECT DISTINCT developer, app_sku, bundle_id FROM (\(named)) AS line) AS pair
        ) AS pair
        WHERE app_sku <> ''
        GROUP BY developer, app_sku
        HAVING count(*) = 1 AND min(skus) = 1 AND min(bundle_id) <> ALL (\(others.map(\.text)))
        """
    }
}
