import Foundation
import NightlyRun
import PostgreSQL
import Reconciliation
import TestSupport
import Testing

/// Nights on which others are in the way in the database.
@Suite struct DisturbedNightTests {
    @Test func getsOverTheLossOfAllItsSessions() async throws {
        let undisturbed = try await undisturbedLedger(customers: 60)
        try await withStage(customers: 60) { stage in
            let isCut = Once()
            let database = stage.database
            let run = try await stage.run { progress in
                guard progress.done > 0, isCut.isFirst() else { return }
                Task {
                    let admin = try await database.connect()
                    defer { admin.close() }
                    _ = try await admin.query(
                        """
                        SELECT pg_terminate_backend(pid) FROM pg_stat_activity
                        WHERE datname = current_database() AND application_name = 'iap-reconcile'
                        """)
                }
            }
            #expect(run.report.outcome == .complete)
            #expect(run.report.receipts.left == 0)
            #expect(try await difference(stage.ledger(), undisturbed) == [])
        }
    }

    @Test func worksAroundATransactionThatSomebodyHoldsOnTo() async throws {
        let undisturbed = try await undisturbedLedger()
        try await withStage { stage in
            let claimer = try await stage.database.connect()
            defer { claimer.close() }
            try await claimer.execute("BEGIN")
            let claimed = try await claimer.query(
                """
                SELECT iap.claim(bundle_id, transaction_id, coalesce(admitted_user_id, 'someone'), NULL)
                FROM (SELECT * FROM iap.white ORDER BY transaction_id LIMIT 1) AS chosen
                """)
            #expect(!claimed.isEmpty)
            var hurried = stage
            hurried.settings.patience = 0.5
            let first = try await hurried.run()
            guard case .endedEarly(let why) = first.report.outcome else {
                Issue.record("the run did not end early: \(first.report.outcome)")
                return
            }
            #expect(why.contains("locks"))
            #expect(first.report.receipts.verified > 0)
            #expect(first.report.receipts.left > 0)
            try await claimer.execute("ROLLBACK")
            let second = try await stage.run()
            #expect(second.report.outcome == .complete)
            #expect(second.report.receipts.due == first.report.receipts.left)
            #expect(try await difference(stage.ledger(), undisturbed) == [])
        }
    }
}
