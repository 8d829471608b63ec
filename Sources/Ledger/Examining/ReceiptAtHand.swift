import PostgreSQL
public import Reconciliation

/// A receipt that was verified before, by which it can be tried whether Apple takes what is configured today.
public struct ReceiptAtHand: Sendable {
    public let id: Int64
    public let payload: String
    /// Apple looks at the shared secret only then.
    public let hasSubscription: Bool
}

extension LedgerSession {
    /// An app's latest receipt whose payload is still there, one with a subscription if there is any among the latest.
    public func receiptAtHand(of app: BundleID) async throws(LedgerError) -> ReceiptAtHand? {
        try await translating {
            let rows = try await connection.query(
                """
                WITH latest AS (
                    SELECT receipt_id, bucket
                    FROM generate_series(0, 63) AS buckets (bucket)
                    CROSS JOIN LATERAL (
                        SELECT receipt_id, bundle_id, payload IS NOT NULL AS is_there
                        FROM iap.receipts
                        WHERE receipts.bucket = buckets.bucket AND verified_at IS NOT NULL
                        ORDER BY receipt_id DESC
                        LIMIT 200
                    ) AS verified
                    WHERE bundle_id = \(app.text) AND is_there
                    ORDER BY receipt_id DESC
                    LIMIT 200
                )
                SELECT receipts.receipt_id, receipts.payload, subscription.is_there
                FROM latest
                JOIN iap.receipts USING (bucket, receipt_id)
                CROSS JOIN LATERAL (
                    SELECT EXISTS (
                        SELECT FROM iap.sightings
                        JOIN iap.transactions USING (transaction_id, bundle_id, environment)
                        WHERE sightings.receipt_id = latest.receipt_id AND in_receipt
                            AND transactions.product_type = 'auto_renewable'
                    ) AS is_there
                ) AS subscription
                ORDER BY subscription.is_there DESC, latest.receipt_id DESC
                LIMIT 1
                """)
            return try rows.first.map { row in
                ReceiptAtHand(
                    id: try row.decode("receipt_id"), payload: try row.decode("payload"),
                    hasSubscription: try row.decode("is_there"))
            }
        }
    }
}
