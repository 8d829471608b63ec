import Verification
import AppStoreSimulator
import SimulatedWorld
import Foundation
import Job
import NightlyRun
import Reconciliation
import Synchronization
import TestSupport
import Testing

/// A world of nights on a scratch database, played through the job night by night.
struct PlayedNights {
    let settings: WorldSettings
    let database: ScratchDatabase
    let stage: WorldStage
    let world: World
    fileprivate let job: NightlyJob
    fileprivate let present: Present

    /// Lets the day before a night take place, runs the job at its moment, and keeps what it said.
    @discardableResult
    func play(_ night: Int) async throws -> RunReport {
        present.moment = settings.moment(ofNight: night)
        try await stage.play(day: night)
        var findings = Collector()
        let report = try await job.run(RunOptions(now: present.moment), stop: StopSignal(), findings: &findings)
        #expect(report.totals.imbalances == [])
        try await stage.observe(night: night)
        return report
    }

    /// What the latest night's report says when it is written again.
    func report() async throws -> (report: RunReport, findings: Collector) {
        var findings = Collector()
        let report = try await job.report(run: nil, findings: &findings)
        return (report, findings)
    }
}

/// Opens a world with a store of its own.
func withNights<Value>(
    _ settings: WorldSettings, redelivery: RedeliveryMode = .never, _ body: (PlayedNights) async throws -> Value
) async throws -> Value {
    let world = World(settings)
    let present = Present(settings.moment(ofNight: 1))
    let store = SimulatedAppStore(seed: settings.seed, records: world.records, now: { present.moment })
    let addresses = try store.start()
    defer { store.stop() }
    let roots = try RootsFile(of: store)
    defer { roots.remove() }
    return try await withScratchDatabase { database async throws -> Value in
        let job = NightlyJob(
            settings: jobSettings(settings, database, addresses, roots, redelivery: redelivery), programVersion: "test",
            log: { _ in }, progress: { _ in })
        return try await WorldStage.open(world, on: database.conninfo) { stage in
            try await body(
                PlayedNights(
                    settings: settings, database: database, stage: stage, world: world, job: job, present: present))
        }
    }
}

/// The moment that a store takes for the present.
private final class Present: Sendable {
    private let state: Mutex<Date>

    init(_ moment: Date) {
        state = Mutex(moment)
    }

    var moment: Date {
        get { state.withLock { $0 } }
        set { state.withLock { $0 = newValue } }
    }
}
