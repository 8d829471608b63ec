import AppStoreSimulator
import Foundation
import Ledger
import PostgreSQL
import Reconciliation
import TestSupport
import Testing
import Verification

@testable import Job
@testable import NightlyRun

/// The buckets that a worker comes to own, and those that it leaves.
@Suite struct BatchSourceTests {
    /// A run that ends at its limit or on a signal makes no further pass, and would blame sessions that there are not.
    @Test func aBucketInTheHandsOfAWorkerOfThisRunIsNoOthersLock() async throws {
        try await withPlay { play in
            let bought = play.buy("1000000000005501")
            try await play.upload(play.receipt([bought]), for: bought)
            let text = try #require(try await play.text("SELECT bucket FROM iap.receipts"))
            let bucket = try #require(Int(text))
            let session = try await LedgerSession.connect(play.settings.ledger)
            defer { session.close() }
            let neighbour = try await LedgerSession.connect(play.settings.ledger)
            defer { neighbour.close() }
            let night = try makeNight(play)

            night.offer([false, true].map { DueReceipts(bucket: bucket, isTroubled: $0, count: 1) })
            var source = BatchSource(night: night)
            let batch = try await source.next(session)
            #expect(batch?.buckets == [bucket])
            var other = BatchSource(night: night)
            let ofItsOtherTurn = try await other.next(neighbour)
            #expect(ofItsOtherTurn?.buckets == nil)
            #expect(night.leftOut.isEmpty)

            // In another pass that session is as good as a stranger's.
            night.offer([DueReceipts(bucket: bucket, isTroubled: false, count: 1)])
            let ofAStrangers = try await other.next(neighbour)
            #expect(ofAStrangers?.buckets == nil)
            #expect(night.leftOut.buckets == [bucket])
        }
    }

    private func makeNight(_ play: Play) throws -> Night {
        let settings = play.settings
        let context = RunContext(
            runID: 1, now: play.began + 3600, isDryRun: false, settings: settings,
            services: try AppleServices(settings.apple, apps: settings.apps),
            screener: Screener(apps: settings.apps.map(\.app), catalogue: Catalogue([:])), stop: StopSignal(),
            stopwatch: Stopwatch(), log: { _ in })
        return Night(context, due: 2, limit: nil, progress: { _ in })
    }
}
