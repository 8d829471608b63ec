import AppStoreSimulator
import Foundation
import NightlyRun
import PostgreSQL
import Reconciliation
import Synchronization
import TestSupport
import Testing

/// A world of many nights, small: the job finds what it should night by night, and nothing else.
@Suite struct NightsWorldTests {
    /// Plays a world through the job, and judges it.
    private func tally(_ settings: NightsSettings) async throws -> NightsTally {
        let world = NightsWorld(settings)
        let present = Present(settings.moment(ofNight: 1))
        let store = SimulatedAppStore(seed: settings.seed, records: world.records, now: { present.moment })
        let addresses = try store.start()
        defer { store.stop() }
        return try await withScratchDatabase { database async throws -> NightsTally in
            let job = NightlyJob(
                settings: jobSettings(seed: settings.seed, database, addresses), programVersion: "test", log: { _ in },
                progress: { _ in })
            return try await NightsStage.open(world, on: database.conninfo) { stage in
                for night in 1...settings.nights {
                    present.moment = settings.moment(ofNight: night)
                    try await stage.play(day: night)
                    var findings = Collector()
                    let report = try await job.run(
                        RunOptions(now: present.moment), stop: StopSignal(), findings: &findings)
                    #expect(report.totals.imbalances == [])
                    try await stage.observe(night: night)
                }
                return try await stage.tally()
            }
        }
    }

    private func jobSettings(
        seed: UInt64, _ database: ScratchDatabase, _ addresses: SimulatedAppStore.Addresses
    ) -> JobSettings {
        let apps = World.apps(seed: seed).compactMap { app in
            BundleID(app.bundleID).map { bundleID in
                AppSettings(
                    app: App(
                        bundleID: bundleID, environment: .production, grace: Grace(NightsTally.grace), since: nil),
                    sharedSecret: app.sharedSecret.map { Secret($0) })
            }
        }
        return JobSettings(
            database: database.conninfo(as: "iap_job"), apps: apps,
            apple: AppleSettings(
                verifyReceiptProduction: addresses.productionVerifyReceipt,
                verifyReceiptSandbox: addresses.sandboxVerifyReceipt, timeout: 5))
    }

    @Test func findsEverythingThatReachedTheServerAndNothingElse() async throws {
        let tally = try await tally(try NightsSettings(seed: 3, customers: 250, nights: 6))
        #expect(tally.faults == [])
        #expect(tally.isGood)
        #expect(tally.total.lost > 10)
        #expect(tally.total.found == tally.total.lost)
        #expect(tally.total.mended > 0)
        #expect(tally.cases >= tally.total.found)
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
