import AppStoreSimulator
import Foundation
import NightlyRun
import PostgreSQL
import Reconciliation
import TestSupport
import Testing

/// A database, a simulated App Store and a world that was played against both: what a run finds when it begins.
struct Stage {
    static let now = Date(timeIntervalSince1970: 1_790_000_000)

    let database: ScratchDatabase
    let store: SimulatedAppStore
    let world: World
    var settings: JobSettings

    var truth: Truth { world.truth() }
    var lost: Set<String> { Set(truth.lost.map(\.transactionID)) }

    /// Runs the job once, as the role that cron gives it.
    func run(
        _ options: RunOptions = RunOptions(now: Stage.now), stop: StopSignal = StopSignal()
    ) async throws -> (report: RunReport, findings: Collector) {
        var findings = Collector()
        let job = NightlyJob(settings: settings, programVersion: "test", log: { _ in }, progress: { _ in })
        let report = try await job.run(options, stop: stop, findings: &findings)
        return (report, findings)
    }

    /// Every row of a table as text, in an order of its own, without the columns that tell of runs.
    func rows(of table: String, without columns: [String] = []) async throws -> [String] {
        let connection = try await database.connect()
        defer { connection.close() }
        let rows = try await connection.query(
            """
            SELECT (to_jsonb(content) - \(columns)::text[])::text AS content
            FROM \(unsafe: table) AS content
            ORDER BY 1
            """)
        return try rows.map { try $0.decode("content", as: String.self) }
    }
}

/// Plays a world, and hands the stage to the body.
func withStage(
    customers: Int = 200, seed: UInt64 = 7, faults: Faults = .none, _ body: (Stage) async throws -> Void
) async throws {
    let world = World(try WorldSettings(seed: seed, customers: customers, days: 5, now: Stage.now))
    let store = SimulatedAppStore(seed: seed, records: world.records, faults: faults, now: { Stage.now })
    let addresses = try store.start()
    defer { store.stop() }
    try await withScratchDatabase { database async throws -> Void in
        _ = try await world.populate(database.conninfo)
        let apps = World.apps(seed: seed).compactMap { app in
            BundleID(app.bundleID).map { bundleID in
                AppSettings(
                    app: App(bundleID: bundleID, environment: .production, grace: Grace(3600), since: nil),
                    sharedSecret: app.sharedSecret.map { Secret($0) })
            }
        }
        let settings = JobSettings(
            database: database.conninfo(as: "iap_job"), apps: apps,
            apple: AppleSettings(
                verifyReceiptProduction: addresses.productionVerifyReceipt,
                verifyReceiptSandbox: addresses.sandboxVerifyReceipt, timeout: 5),
            batchSize: 50)
        try await body(Stage(database: database, store: store, world: world, settings: settings))
    }
}
