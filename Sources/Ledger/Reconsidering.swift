public import Foundation
import PostgreSQL
public import Reconciliation

extension LedgerSession {
    /// Makes the settled receipts due again that hold a transaction which a setting of its app excluded, and which the
    /// settings of today let through: a setting that was wrong for a night must not cost anybody a purchase.
    ///
    /// - Returns: how many receipts are verified again for it; nothing where all that is excluded stays so.
    public func reconsider(_ apps: [App], at now: Date) async throws(LedgerError) -> Int? {
        try await translating {
            let rows = try await connection.query(
                """
                SELECT DISTINCT sightings.bucket, sightings.receipt_id
                FROM unnest(
                    \(apps.map(\.bundleID.text)), \(apps.map(\.environment.rawValue)), \(apps.map(\.since))
                ) AS app (bundle_id, environment, since)
                JOIN iap.excluded
                    ON excluded.bundle_id = app.bundle_id AND excluded.environment = app.environment
                    AND excluded.purchased_at >= coalesce(app.since, '-infinity')
                    AND excluded.reason IN ('sandbox', 'before_start') AND excluded.refunded_at IS NULL
                JOIN iap.sightings
                    ON sightings.transaction_id = excluded.transaction_id
                    AND sightings.bundle_id = excluded.bundle_id
                    AND sightings.environment = excluded.environment
                ORDER BY sightings.bucket, sightings.receipt_id
                """)
            guard !rows.isEmpty else { return nil }
            return try await connection.execute(
                """
                UPDATE iap.receipts
                SET state = 'watched', next_attempt_at = \(now)
                FROM unnest(
                    \(try rows.map { try $0.decode("bucket", as: Int16.self) }),
                    \(try rows.map { try $0.decode("receipt_id", as: Int64.self) })
                ) AS held (bucket, receipt_id)
                WHERE receipts.bucket = held.bucket AND receipts.receipt_id = held.receipt_id
                    AND receipts.state = 'settled' AND receipts.payload IS NOT NULL
                """)
        }
    }
}
