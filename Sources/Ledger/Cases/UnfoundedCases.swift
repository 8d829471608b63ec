public import Foundation
import PostgreSQL
public import Reconciliation

extension LedgerSession {
    /// Closes the open cases of what is not judged any more, and of subscriptions whose case is another period's now;
    /// those that another session has locked are closed another night.
    public func withdrawCases(
        expecting deliveries: [ExpectedDelivery], runID: Int64, now: Date
    ) async throws(LedgerError) {
        try await translating {
            _ = try await connection.execute(
                """
                WITH unfounded AS MATERIALIZED (
                    SELECT cases.transaction_id, cases.bundle_id, cases.environment
                    FROM cases
                    JOIN white USING (transaction_id, bundle_id, environment)
                    LEFT JOIN products
                        ON products.bundle_id = white.bundle_id AND products.product_id = white.product_id
                    \(Self.expected(deliveries))
                    -- What this sweep has stored it has just judged.
                    WHERE cases.state = 'open' AND cases.assessed_run_id <> \(runID)
                        AND (
                            (\(Self.isJudged)) IS NOT TRUE
                            OR (expected.mode = 'entitlement' AND \(Self.hasEarlierPeriod)))
                    ORDER BY cases.transaction_id, cases.bundle_id, cases.environment
                    FOR UPDATE OF cases SKIP LOCKED
                ), closed AS (
                    UPDATE cases
                    SET state = 'closed', closed_at = \(now), closed_as = 'withdrawn',
                        closed_by = \("run \(runID)"), told_run_id = NULL, assessed_at = \(now), assessed_run_id = \(runID)
                    FROM unfounded
                    WHERE cases.transaction_id = unfounded.transaction_id AND cases.bundle_id = unfounded.bundle_id
                        AND cases.environment = unfounded.environment
                    RETURNING cases.transaction_id, cases.bundle_id, cases.environment
                )
                INSERT INTO events
                SELECT event.*, audit.seal(ROW(event.*, NULL)::iap.events)
                FROM (
                    SELECT
                        nextval('iap.trail'), \(now), 'case_withdrawn', 'iap-reconcile', \(runID), transaction_id,
                        bundle_id, environment, '{}'::jsonb
                    FROM closed
                    ORDER BY transaction_id, bundle_id, environment
                ) AS event
                """)
        }
    }
}
