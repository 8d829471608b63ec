import Foundation
import PostgreSQL
import Reconciliation
import TestSupport
import Testing

@testable import Ledger

/// How the sweep looks for the periods of a subscription.
@Suite struct EarlierPeriodTests {
    /// Where the planner takes white for small, its index costs next to nothing, and each period would have all read that
    /// is white of its app.
    @Test func isLookedForAmongTheSubscriptionsOwn() async throws {
        try await withLedger { ledger in
            let connection = try await ledger.database.connect()
            defer { connection.close() }
            // Years of deliveries, and nothing that is white.
            try await connection.execute(
                """
                INSERT INTO iap.transactions (
                    transaction_id, bundle_id, environment, place, original_transaction_id, product_id, quantity,
                    purchased_at, is_trial, source, verified_at, booked_as, entry_id, first_seen_at, nights_confirmed,
                    delivered_by, delivered_at)
                SELECT
                    number::text, \(LedgerBench.bundleID), 'Production', 'black', number::text, 'pass', 1,
                    now() - number * interval '1 hour', false, 'server_api', now(), 'unknown', number, now(), 0,
                    'import', now()
                FROM generate_series(1, 3000) AS number
                """)
            try await connection.executeScript(
                unsafe: "SET search_path = iap, public; SET enable_seqscan = off; ANALYZE transactions")
            let plan = try await connection.query(
                """
                EXPLAIN
                SELECT count(*)
                FROM white
                JOIN unnest(
                    \([LedgerBench.bundleID]), \([Environment.production.rawValue]), \(["entitlement"]), \([Date()])
                ) AS expected (bundle_id, environment, mode, judged_from)
                    ON expected.bundle_id = white.bundle_id AND expected.environment = white.environment
                WHERE NOT (expected.mode = 'entitlement' AND \(LedgerSession.hasEarlierPeriod))
                """
            ).map { try $0.decode("QUERY PLAN", as: String.self) }
            let looked = plan.drop { line in !line.drop { $0 == " " }.hasPrefix("SubPlan") }
            #expect(looked.contains { $0.contains("transactions_by_original") })
            #expect(!looked.contains { $0.contains("transactions_white") })
        }
    }
}
