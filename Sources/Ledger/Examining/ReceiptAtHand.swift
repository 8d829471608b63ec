import PostgreSQL
public import Reconciliation

/// A receipt that was verified before, with which it can be tried whether Apple takes what is configured today.
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
            let latest = try await latestReceipts(of: app)
            let rows = try await connection.query(
                """
                WITH subscriptions AS MATERIALIZED (
                    SELECT DISTINCT sightings.receipt_id
                    FROM iap.sightings
                    JOIN iap.transactions USING (transaction_id, bundle_id, environment)
                    WHERE sightings.receipt_id = ANY (\(latest)) AND in_receipt
                        AND transactions.product_type = 'auto_renewable'
                )
                SELECT receipt_id, payload, subscriptions.receipt_id IS NOT NULL AS is_there
                FROM \(receipts: latest, of: "iap.receipts")
                LEFT JOIN subscriptions USING (receipt_id)
                WHERE payload IS NOT NULL
                ORDER BY is_there DESC, receipt_id DESC
                LIMIT 1
                """)
            return try rows.first.map { row in
                ReceiptAtHand(
                    id: try row.decode("receipt_id"), payload: try row.decode("payload"),
                    hasSubscription: try row.decode("is_there"))
            }
        }
    }

    /// The latest receipts, which are found by the key of each bucket.
    private func latestReceipts(of app: BundleID) async throws -> [Int64] {
        var latest: [Int64] = []
        for bucket in Bucket.all {
            latest += try await connection.query(
                """
                SELECT receipt_id
                FROM (
                    SELECT receipt_id, bundle_id, payload IS NOT NULL AS is_there
                    FROM iap.receipts
                    WHERE bucket = \(bucket) AND verified_at IS NOT NULL
                    ORDER BY receipt_id DESC
                    LIMIT \(Self.latestAtHand)
                ) AS verified
                WHERE bundle_id = \(app.text) AND is_there
                """
            ).map { try $0.decode("receipt_id") }
        }
        return Array(latest.sorted(by: >).prefix(Int(Self.latestAtHand)))
    }

    private static let latestAtHand: Int64 = 200
}
