import Foundation
import Job
import PostgreSQL
import Reconciliation
import TestSupport
import Testing

/// A table that somebody holds for himself, as a migration or a repair does: the night waits as long as it was told to.
@Suite struct LockedTableTests {
    @Test(
        .timeLimit(.minutes(10)),
        arguments: [
            "iap.receipts", "iap.transactions", "iap.sightings", "iap.cases", "iap.runs", "iap.products",
            "iap.moves", "audit.frontier",
        ])
    func aTableThatIsLockedHoldsUpNoLongerThanPatience(table: String) async throws {
        try await withStage(customers: 30) { stage in
            var stage = stage
            stage.settings.patience = 1
            let holder = try await stage.database.connectLocking(table)
            defer { holder.close() }
            do {
                let (report, _) = try await stage.run()
                #expect(report.outcome != .complete)
            } catch let error as JobError {
                #expect(error.exitCode == .tryLater, "\(error)")
            }
            try await holder.execute("ROLLBACK")
            let (report, findings) = try await stage.run()
            #expect(report.outcome == .complete)
            #expect(findings.toldIDs == stage.lost)
        }
    }

    /// What can be read and not recorded stays due, and the report says so.
    @Test func whatCannotBeRecordedStaysDue() async throws {
        try await withStage(customers: 30) { stage in
            var stage = stage
            stage.settings.patience = 1
            let holder = try await stage.database.connectLocking("iap.sightings", in: "EXCLUSIVE")
            defer { holder.close() }
            let (report, _) = try await stage.run()
            #expect(report.outcome != .complete)
            #expect(report.leftOut.receipts > 0 && report.leftOut.receipts == report.receipts.left)
            try await holder.execute("ROLLBACK")
            #expect(try await stage.run().findings.toldIDs == stage.lost)
        }
    }
}
