import Foundation
import Job
import Ledger
import Reconciliation
import Testing

@testable import NightlyRun

/// What another run that shares the inbox has in hand when Apple's words are taken.
@Suite struct TakingSharedTests {
    private static let held = TransactionID("2000000000000001")!

    /// Takes notices of which one is locked the first times, and gives what they came to, and how often it was tried.
    private func take(
        workers: Workers, lockedFor times: Int
    ) async throws -> (totals: NoticeTotals, tries: Int) {
        var settings = JobSettings(database: "", apps: [])
        settings.workers = workers
        var tries = 0
        let take = { () async throws(LedgerError) in
            tries += 1
            var totals = NoticeTotals(fresh: tries == 1 ? 2 : tries > times ? 1 : 0)
            if tries <= times { totals.locked = [Self.held] }
            return totals
        }
        let totals = try await settings.takeShared(take) { locked async throws(LedgerError) in
            #expect(locked == [Self.held])
            return try await take()
        }
        return (totals, tries)
    }

    @Test func whatAnotherRunHasInHandIsTakenAMomentLater() async throws {
        let (totals, tries) = try await take(workers: .shared, lockedFor: 2)
        #expect(totals == NoticeTotals(fresh: 3) && tries == 3)
    }

    @Test func aRunThatHasTheInboxForItselfLeavesWhatIsLocked() async throws {
        let (totals, tries) = try await take(workers: .exclusive, lockedFor: 1)
        #expect(totals.locked == [Self.held] && totals.fresh == 2 && tries == 1)
    }

    @Test func anAnswerIsTakenAgainOnlyForWhatWasLocked() throws {
        let ids = try (1...3).map { try #require(TransactionID("\($0)")) }
        var batch = AnswerBatch(runID: 1, now: .distantPast, interval: 0)
        batch.customers = [
            AnswerBatch.Customer(
                customerID: "a", account: nil, revision: nil, expiresAt: nil, transactionIDs: [ids[0], ids[1]]),
            AnswerBatch.Customer(
                customerID: "b", account: nil, revision: nil, expiresAt: nil, transactionIDs: [ids[2]]),
        ]
        batch.deliveries = ids.map {
            AnswerBatch.Delivery(transactionID: $0, finding: .accountGone, appAccountToken: nil)
        }
        batch.unansweredCustomers = ["c"]
        let rest = batch.holding([ids[1]])
        #expect(rest.customers.map(\.customerID) == ["a"] && rest.deliveries.map(\.transactionID) == [ids[1]])
        #expect(rest.count == 2)
        var totals = AskingTotals(asked: 5)
        totals.locked = [ids[1]]
        totals.add(takenAgain: AskingTotals(asked: 2, unknown: 1))
        #expect(totals == AskingTotals(asked: 5, unknown: 1))
    }
}
