import Verification
import AppStoreSimulator
import Foundation
import NightlyRun
import Reconciliation
import Synchronization
import TestSupport
import Testing

/// A world of nights on a scratch database, played through the job night by night.
struct PlayedNights {
    let settings: NightsSettings
    let database: ScratchDatabase
    let stage: NightsStage
    let world: NightsWorld
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
    _ settings: NightsSettings, _ body: (PlayedNights) async throws -> Value
) async throws -> Value {
    let world = NightsWorld(settings)
    let present = Present(settings.moment(ofNight: 1))
    let store = SimulatedAppStore(seed: settings.seed, records: world.records, now: { present.moment })
    let addresses = try store.start()
    defer { store.stop() }
    let roots = FileManager.default.temporaryDirectory.appending(path: "iap-roots-\(UUID().uuidString).pem")
    try Data(store.rootCertificatesPEM.utf8).write(to: roots)
    defer { try? FileManager.default.removeItem(at: roots) }
    return try await withScratchDatabase { database async throws -> Value in
        let job = NightlyJob(
            settings: jobSettings(settings, database, addresses, roots: roots), programVersion: "test",
            log: { _ in },
            progress: { _ in })
        return try await NightsStage.open(world, on: database.conninfo) { stage in
            try await body(
                PlayedNights(
                    settings: settings, database: database, stage: stage, world: world, job: job, present: present))
        }
    }
}

private func jobSettings(
    _ settings: NightsSettings, _ database: ScratchDatabase, _ addresses: SimulatedAppStore.Addresses, roots: URL
) -> JobSettings {
    let apps = zip(NightsWorld.apps, NightsWorld.storeApps(seed: settings.seed)).compactMap { app, store in
        BundleID(app.bundleID).map { bundleID in
            AppSettings(
                app: App(
                    bundleID: bundleID, environment: .production, grace: Grace(NightsTally.grace),
                    since: app.since(settings), storefronts: ["CHN", "JPN", "USA"], delivery: app.deliveryModes),
                sharedSecret: store.sharedSecret.map { Secret($0) })
        }
    }
    var job = JobSettings(
        database: database.conninfo(as: "iap_job"), apps: apps,
        apple: AppleSettings(
            verifyReceiptProduction: addresses.productionVerifyReceipt,
            verifyReceiptSandbox: addresses.sandboxVerifyReceipt, rootCertificates: roots.path(percentEncoded: false),
            timeout: 5))
    job.importDatabase = database.conninfo(as: "iap_import")
    job.sources = NightsOwnTables.sources.compactMap { source in
        ImportKind(rawValue: source.kind).map { kind in
            SourceSettings(
                name: source.kind, kind: kind,
                origin: .query(
                    SourceQuery(conninfo: database.conninfo, text: source.query, watermark: source.watermark)))
        }
    }
    return job
}

extension NightsApp {
    /// As its configuration says it.
    fileprivate var deliveryModes: [ProductType: DeliveryMode] {
        delivery.reduce(into: [:]) { modes, word in
            if let type = ProductType(rawValue: word.key) { modes[type] = DeliveryMode(rawValue: word.value) }
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
