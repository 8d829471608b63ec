public import Foundation
import PostgreSQL
public import Reconciliation

extension LedgerSession {
    /// Makes those settled receipts due again that hold a transaction which a setting of its app excluded, and which
    /// today's settings let through: a setting that was wrong for a night must not cost anybody a purchase.
    ///
    /// - Returns: how many receipts are verified again for it; `nil` if all that is excluded stays so.
    public func reconsider(_ apps: [App], at now: Date) async throws(LedgerError) -> Int? {
        try await translating {
            var held: [Row] = []
            for app in apps { held += try await receiptsHoldingReleased(of: app) }
            guard !held.isEmpty else { return nil }
            return try await watchAgain(held, at: now)
        }
    }

    /// Makes the settled receipts due again that hold what is owed again, as access that the app's server took back: mostly
    /// because Apple refunded it, and then it is not owed. What was taken back while a night was under way is looked for
    /// by the next ones.
    ///
    /// - Returns: how many receipts are verified again for it.
    public func watchOwedAgain(at now: Date) async throws(LedgerError) -> Int {
        try await translating {
            let held = try await connection.query(
                """
                SELECT DISTINCT sightings.bucket, sightings.receipt_id
                FROM \(stored: .moves)
                JOIN \(stored: .transactions) USING (transaction_id, bundle_id, environment)
                JOIN \(stored: .sightings) USING (transaction_id, bundle_id, environment)
                WHERE moves.kind IN ('revoked', 'reopened', 'released') AND transactions.place = 'white'
                    AND moves.moved_at
                        > least(\(now), (SELECT closed_at FROM audit.frontier)) - interval '3 days'
                ORDER BY sightings.bucket, sightings.receipt_id
                """)
            return held.isEmpty ? 0 : try await watchAgain(held, at: now)
        }
    }

    /// Makes those of these receipts due again that are settled and were not purged; says how many.
    func watchAgain(_ held: [Row], at now: Date) async throws -> Int {
        try await connection.execute(
            """
            UPDATE \(stored: .receipts)
            SET state = 'watched', next_attempt_at = \(now),
                seal = \(ReceiptSeal.renewed(of: "receipts", state: "'watched'"))
            FROM unnest(
                \(try held.map { try $0.decode("bucket", as: Int16.self) }),
                \(try held.map { try $0.decode("receipt_id", as: Int64.self) })
            ) AS held (bucket, receipt_id)
            WHERE receipts.bucket = held.bucket AND receipts.receipt_id = held.receipt_id
                AND receipts.state = 'settled' AND receipts.payload IS NOT NULL
            """)
    }

    /// Looks at one app at a time: only if the planner knows the start does it see that next to nothing of years lies
    /// after it. The reasons are those that a setting of the app decides, and not Apple. They are written as in the
    /// index that finds them: of parameters the planner would not know that they are the same. What was restored was
    /// bought when its original was, as in the rule `beforeStart`; otherwise it would be verified again each night. A
    /// refund of what was taken for the sandbox's counts nowhere until then.
    private func receiptsHoldingReleased(of app: App) async throws -> [Row] {
        try await connection.query(
            """
            SELECT DISTINCT sightings.bucket, sightings.receipt_id
            FROM \(stored: .transactions)
            JOIN \(stored: .sightings) USING (transaction_id, bundle_id, environment)
            LEFT JOIN products USING (bundle_id, product_id)
            WHERE bundle_id = \(app.bundleID.text) AND environment = \(app.environment.rawValue)
                AND purchased_at >= coalesce(\(app.since as Date?), '-infinity')
                AND reason IN ('sandbox', 'before_start') AND (refunded_at IS NULL OR reason = 'sandbox')
                AND (
                    coalesce(transactions.product_type, products.type, 'non_consumable') <> 'non_consumable'
                    OR (coalesce(transactions.product_type, products.type) IS NULL AND expires_at IS NOT NULL)
                    OR coalesce(original_purchased_at >= \(app.since as Date?), true))
            ORDER BY sightings.bucket, sightings.receipt_id
            """)
    }
}
