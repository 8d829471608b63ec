import PostgreSQL
import Reconciliation

/// What of the batch is not owed: it leaves white, and stays in excluded with its reason.
extension Merge {
    /// Takes out of white what Apple's latest word says is not owed, and closes its cases.
    func withdraw() async throws -> (refunded: Tally, resolved: Tally) {
        let rows = try await connection.query(
            """
            DELETE FROM white
            USING verified
            WHERE verified.bucket = \(bucket) AND verified.is_best AND verified.exclusion IS NOT NULL
                AND white.transaction_id = verified.transaction_id
                AND white.bundle_id = verified.bundle_id
                AND white.environment = verified.environment
            RETURNING
                verified.exclusion, white.quantity, hashtextextended(white.transaction_id, 0) AS hash
            """)
        guard !rows.isEmpty else { return (Tally(), Tally()) }
        try await closeWithdrawnCases()
        var (refunded, resolved) = (Tally(), Tally())
        for row in rows {
            let tally = try Tally(row)
            if try row.decode("exclusion", as: String.self) == Exclusion.refunded.rawValue {
                refunded += tally
            } else {
                resolved += tally
            }
        }
        return (refunded, resolved)
    }

    private func closeWithdrawnCases() async throws {
        try await connection.execute(
            """
            UPDATE cases
            SET state = 'closed',
                closed_at = \(record.now),
                closed_as = CASE verified.exclusion WHEN 'refunded' THEN 'refunded' ELSE 'withdrawn' END,
                closed_by = \("run \(record.runID)"),
                assessed_at = \(record.now),
                assessed_run_id = \(record.runID)
            FROM verified
            WHERE verified.bucket = \(bucket) AND verified.is_best AND verified.exclusion IS NOT NULL
                AND cases.transaction_id = verified.transaction_id
                AND cases.bundle_id = verified.bundle_id
                AND cases.environment = verified.environment
                AND cases.state = 'open'
            """)
    }

    /// Takes out of excluded what a setting alone kept there, and which another reason keeps by now, or none. A refund
    /// that was noted meanwhile stays.
    func release() async throws {
        try await connection.execute(
            """
            WITH released AS (
                DELETE FROM excluded
                USING verified
                WHERE verified.bucket = \(bucket) AND verified.is_best
                    AND excluded.transaction_id = verified.transaction_id
                    AND excluded.bundle_id = verified.bundle_id
                    AND excluded.environment = verified.environment
                    AND excluded.reason = ANY (\(Exclusion.bySetting.map(\.rawValue)))
                    AND excluded.refunded_at IS NULL
                    AND coalesce(verified.exclusion, 'none') NOT IN (excluded.reason, 'refunded')
                RETURNING
                    excluded.transaction_id, excluded.bundle_id, excluded.environment, excluded.reason
            )
            INSERT INTO events (happened_at, kind, actor, run_id, transaction_id, bundle_id, environment, details)
            SELECT
                \(record.now), 'released', 'iap-reconcile', \(record.runID), transaction_id, bundle_id, environment,
                jsonb_build_object('reason', reason)
            FROM released
            ORDER BY transaction_id, bundle_id, environment
            """)
    }

    /// Keeps what is not owed, with its reason; a refund that comes later is added, and nothing is taken away.
    func exclude() async throws {
        try await connection.execute(
            """
            INSERT INTO excluded AS known (
                transaction_id, bundle_id, environment, original_transaction_id, product_id, product_type, quantity,
                purchased_at, price_milliunits, currency, storefront, booked_milliunits, booked_currency, booked_as,
                source, verified_at, reason, found_bundle_id, refunded_at, refund_reason, excluded_at, run_id, seal)
            SELECT
                transaction_id, bundle_id, environment, original_transaction_id, product_id, product_type, quantity,
                purchased_at, price_milliunits, verified.currency, storefront, \(booked), source, verified_at,
                exclusion, found_bundle_id, refunded_at, refund_reason, \(record.now), \(record.runID),
                \(Seal.excluded.of([
                    "currency": "verified.currency", "reason": "exclusion", "excluded_at": "\(record.now)",
                ]))
            FROM verified
            \(listPrices)
            WHERE bucket = \(bucket) AND is_best AND exclusion IS NOT NULL
                AND NOT EXISTS (
                    SELECT FROM black
                    WHERE black.transaction_id = verified.transaction_id
                        AND black.bundle_id = verified.bundle_id
                        AND black.environment = verified.environment)
            ORDER BY transaction_id, bundle_id, environment
            ON CONFLICT (transaction_id, bundle_id, environment) DO UPDATE
            SET refunded_at = EXCLUDED.refunded_at, refund_reason = EXCLUDED.refund_reason
            WHERE known.refunded_at IS NULL AND EXCLUDED.refunded_at IS NOT NULL
            """)
    }
}
