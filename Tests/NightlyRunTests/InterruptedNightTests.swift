import AppStoreSimulator
import Foundation
import Ledger
import Job
import NightlyRun
import PostgreSQL
import Reconciliation
import Synchronization
import TestSupport
import Testing
import Verification

/// Nights that are stopped, and nights with more than one run.
@Suite struct InterruptedNightTests {
    @Test func stopsInGoodOrderAndFinishesLater() async throws {
        let undisturbed = try await undisturbedLedger()
        try await withStage { stage in
            let stop = StopSignal()
            let first = try await stage.run(stop: stop) { progress in
                if progress.done > 0 { stop.request("asked to stop by SIGTERM") }
            }
            #expect(first.report.outcome == .endedEarly("asked to stop by SIGTERM"))
            #expect(first.findings.isFinished)
            #expect(first.report.receipts.verified > 0)
            #expect(first.report.receipts.left > 0)
            #expect(first.report.totals.imbalances == [])

            let second = try await stage.run()
            #expect(second.report.outcome == .complete)
            #expect(second.report.receipts.due == first.report.receipts.left)
            expectSame(try await stage.ledger(), undisturbed)
        }
    }

    /// Each key is tried before the night, and an Apple that says nothing would be waited for two minutes for each app.
    @Test func aStopEndsTheWaitForAnAppleThatSaysNothing() async throws {
        try await withPlay(hasKey: true) { play in
            try await TestServer.with({ _, connection in connection.staySilent() }) { server in
                var settings = play.settings
                settings.apple.serverAPIProduction = server.url
                let (stop, options) = (StopSignal(), RunOptions(now: play.began + 3600))
                let job = NightlyJob(settings: settings, programVersion: "test", log: { _ in }, progress: { _ in })
                let night = Task {
                    var findings = Collector()
                    return try await job.run(options, stop: stop, findings: &findings)
                }
                await server.received.reach(1)
                let asked = ContinuousClock.now
                stop.request("asked to stop")
                let report = try await night.value
                #expect(report.outcome == .endedEarly("asked to stop"))
                #expect(ContinuousClock.now - asked < .seconds(60))
            }
        }
    }

    @Test(arguments: [(false, Workers.shared), (true, .exclusive), (false, .exclusive)])
    func refusesASecondRunUnlessBothShareTheNight(isFirstShared: Bool, second: Workers) async throws {
        try await withStage(customers: 30) { stage in
            let first = try await LedgerSession.connect(LedgerSettings(database: stage.settings.database))
            defer { first.close() }
            #expect(try await first.tryLock(.night(isShared: isFirstShared)))
            let before = try await stage.rows(of: "iap.receipts")
            var stage = stage
            stage.settings.workers = second
            await #expect {
                _ = try await stage.run()
            } throws: { error in
                guard case .anotherRun(let text) = error as? JobError else { return false }
                return text.contains("workers = shared")
            }
            let after = try await stage.rows(of: "iap.receipts")
            #expect(after == before)
            let runs = try await stage.rows(of: "iap.runs")
            #expect(runs == [])
        }
    }

    /// Whoever may connect sees the space of a night's locks in pg_locks while it lasts.
    @Test func aLockThatAnotherLoginKeepsIsToldWithWhose() async throws {
        try await withPlay { play in
            let other = try await play.database.connect()
            let space = try #require(
                try await other.query("SELECT space FROM iap.lock_space").first?.decode("space", as: Int32.self))
            let stranger = try await play.database.connect(as: "iap_finance")
            _ = try await stranger.query("SELECT pg_advisory_lock(\(space), 1000)")
            await #expect {
                _ = try await play.night(1)
            } throws: { error in
                guard case .anotherRun(let text) = error as? JobError else { return false }
                return text.contains("iap_finance since") && text.hasSuffix("If that session is no run, end it.")
            }
            stranger.close()
            other.close()
        }
    }

    /// Small batches are often the last of their buckets and full: only the next, empty one tells that nothing is left.
    @Test(arguments: [128, 2])
    func sharesTheBucketsAmongRuns(batchSize: Int) async throws {
        let undisturbed = try await undisturbedLedger()
        try await withStage { stage in
            var shared = stage
            shared.settings.workers = .shared
            shared.settings.batchSize = batchSize
            async let one = shared.run()
            async let other = shared.run()
            let reports = try await [one.report, other.report]
            let verified = reports.map(\.receipts.verified)
            for report in reports { #expect(report.totals.imbalances == []) }
            var ledger = try await stage.ledger()
            // Whoever ends first judges what the other has yet to verify: what turns out to be granted is closed by the other.
            ledger["iap.cases"]?.removeAll { $0.contains(#""closed_by": "entitlement""#) }
            expectSame(ledger, undisturbed)
            let whole = try await withStage { try await $0.run().report.receipts.verified }
            #expect(verified.reduce(0, +) == whole)
        }
    }

    /// It is in good hands: whoever works through it says what becomes of it.
    @Test func whatAnotherRunThatSharesTheNightWorksThroughIsNotLeftOut() async throws {
        try await withStage(customers: 30) { stage in
            let other = try await LedgerSession.connect(LedgerSettings(database: stage.settings.database))
            defer { other.close() }
            for bucket in 0..<64 { #expect(try await other.tryLock(.bucket(bucket))) }
            var shared = stage
            shared.settings.workers = .shared
            let report = try await shared.run().report
            #expect(report.receipts.due > 0 && report.receipts.tried == 0)
            #expect(report.leftOut.buckets.isEmpty && report.leftOut.receipts == 0 && report.leftOut.holders.isEmpty)
            #expect(report.outcome == .endedEarly("\(report.receipts.due) receipts were not tried and stay due"))
        }
    }

    /// A night that may be shared, and another run's session that judges its cases.
    private func whileAnotherJudgesItsCases(_ body: (Stage, LedgerSession) async throws -> Void) async throws {
        try await withStage(customers: 30) { stage in
            let other = try await LedgerSession.connect(LedgerSettings(database: stage.settings.database))
            defer { other.close() }
            #expect(try await other.tryLock(.sweep))
            var shared = stage
            shared.settings.workers = .shared
            try await body(shared, other)
        }
    }

    /// What it sees last is then stored last, too: a run that looked before the last receipts were recorded would else
    /// store its pages over those of one that looked after it.
    @Test func runsThatShareTheNightJudgeItsCasesOneAfterTheOther() async throws {
        try await whileAnotherJudgesItsCases { stage, other in
            let (told, says) = AsyncStream.makeStream(of: String.self)
            async let night = stage.run(log: { says.yield($0.message) })
            for await said in told where said.contains("another run judges its cases") { break }
            #expect(try await stage.rows(of: "iap.cases") == [])
            try await other.unlock(.sweep)
            let report = try await night.report
            #expect(report.outcome == .complete && report.cases.total > 0)
            #expect(try await other.tryLock(.sweep))
        }
    }

    @Test func aRunThatHangsOverItsCasesHoldsNoOtherUp() async throws {
        try await whileAnotherJudgesItsCases { stage, _ in
            var stage = stage
            stage.settings.patience = 0.3
            let said = Mutex<[String]>([])
            let report = try await stage.run(log: { entry in said.withLock { $0.append(entry.message) } }).report
            #expect(report.outcome == .complete && report.cases.total > 0)
            #expect(said.withLock { $0.contains { $0.contains("cases are judged beside another run") } })
        }
    }
}
