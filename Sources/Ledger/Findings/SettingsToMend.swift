import PostgreSQL
public import Reconciliation

extension LedgerSession {
    /// The settings because of which purchases are not looked at: of what waits in the inbox, of what is white, and of
    /// Apple's notifications.
    ///
    /// - Parameter apps: those that have a section in the configuration.
    public func settingsToMend(_ apps: [BundleID]) async throws(LedgerError) -> [SettingToMend] {
        let configured = apps.map(\.text)
        return try await translating {
            let rows = try await connection.query(
                """
                SELECT cause, bundle_id, sum(receipts)::bigint AS receipts, sum(transactions)::bigint AS transactions,
                    sum(notices)::bigint AS notices, min(detail) AS detail
                FROM (
                    SELECT
                        CASE error_code WHEN \(ReceiptProblem.unknownApp.rawValue) THEN 'no_section' ELSE 'refused' END
                            AS cause,
                        bundle_id, count(*) AS receipts, 0 AS transactions, 0 AS notices,
                        CASE WHEN error_code <> \(ReceiptProblem.unknownApp.rawValue) THEN min(error_text) END AS detail
                    FROM receipts
                    WHERE error_code IS NOT NULL AND next_attempt_at IS NOT NULL
                        AND error_code IN (
                            \(ReceiptProblem.unknownApp.rawValue), \(ReceiptProblem.needsConfiguration.rawValue))
                    GROUP BY error_code, bundle_id
                    UNION ALL
                    SELECT 'no_section', bundle_id, 0, count(*), 0, NULL
                    FROM white
                    WHERE bundle_id <> ALL (\(configured))
                    GROUP BY bundle_id
                    UNION ALL
                    SELECT 'no_section', bundle_id, 0, 0, count(*), NULL
                    FROM iap.handed_notices
                    WHERE bundle_id <> ALL (\(configured)) AND NOT is_final
                    GROUP BY bundle_id
                    UNION ALL
                    SELECT 'no_products', app.bundle_id, 0, paid.transactions, 0, NULL
                    FROM unnest(\(configured)) AS app (bundle_id)
                    CROSS JOIN LATERAL (
                        SELECT count(*) AS transactions
                        FROM white
                        WHERE white.bundle_id = app.bundle_id
                            AND (white.booked_as = 'unknown' OR white.product_type IS NULL)
                    ) AS paid
                    WHERE NOT EXISTS (SELECT FROM products WHERE products.bundle_id = app.bundle_id)
                        AND paid.transactions > 0
                ) AS found
                GROUP BY cause, bundle_id
                ORDER BY cause DESC, bundle_id
                """)
            return try rows.map { row in
                SettingToMend(
                    cause: try row.word("cause"), bundleID: try row.decode("bundle_id"),
                    receipts: try row.decode("receipts"), transactions: try row.decode("transactions"),
                    notices: try row.decode("notices"),
                    detail: try row.decode("detail", as: String?.self))
            }
        }
    }
}
