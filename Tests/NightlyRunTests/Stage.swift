import Verification
import AppStoreSimulator
import SimulatedWorld
import Foundation
import Job
import NightlyRun
import PostgreSQL
import Reconciliation
import TestSupport
import Testing

extension RunOptions {
    /// A replay as of a moment: scratch databases are made for that.
    init(isDryRun: Bool = false, limit: Int? = nil, now: Date) {
        self.init(isDryRun: isDryRun, limit: limit, asOf: .replay(now))
    }
}

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
        _ options: RunOptions = RunOptions(now: Stage.now), stop: StopSignal = StopSignal(),
        progress: @escaping @Sendable (RunProgress) -> Void = { _ in },
        log: @escaping @Sendable (LogEntry) -> Void = { _ in }
    ) async throws -> (report: RunReport, findings: Collector) {
        var findings = Collector()
        let job = NightlyJob(settings: settings, programVersion: "test", log: log, progress: progress)
        let report = try await job.run(options, stop: stop, findings: &findings)
        return (report, findings)
    }

    /// The latest run's report, written again.
    func reportAgain() async throws -> RunReport {
        var findings = Collector()
        let job = NightlyJob(settings: settings, programVersion: "test", log: { _ in }, progress: { _ in })
        return try await job.report(run: nil, findings: &findings)
    }

    /// The same stage before a store of the same world that answers everything.
    func withWellStore<Value>(_ body: (Stage) async throws -> Value) async throws -> Value {
        let well = SimulatedAppStore(seed: world.settings.seed, records: world.records, now: { Stage.now })
        let addresses = try well.start()
        defer { well.stop() }
        var stage = Stage(database: database, store: well, world: world, settings: settings)
        stage.settings.apple.verifyReceiptProduction = addresses.productionVerifyReceipt
        stage.settings.apple.verifyReceiptSandbox = addresses.sandboxVerifyReceipt
        return try await body(stage)
    }

    /// What a night leaves of the ledger, without what tells of the hour and the run: two nights that came to the
    /// same end have the same.
    func ledger() async throws -> [String: [String]] {
        let passing = [
            "first_run_id", "run_id", "refund_run_id", "opened_run_id", "first_seen_at", "last_confirmed_at",
            "verified_at", "excluded_at", "opened_at", "nights_confirmed", "assessed_at", "assessed_run_id",
            "reopened_run_id", "told_run_id", "seal",
        ]
        var ledger: [String: [String]] = [:]
        for table in ["iap.white", "iap.black", "iap.excluded", "iap.sightings", "iap.cases"] {
            ledger[table] = try await rows(of: table, without: passing)
        }
        return ledger
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

/// Expects of two ledgers that neither has a row that the other has not.
func expectSame(
    _ ledger: [String: [String]], _ other: [String: [String]], sourceLocation: SourceLocation = #_sourceLocation
) {
    let differences = Set(ledger.keys).union(other.keys).sorted().flatMap { table in
        Set(ledger[table] ?? []).symmetricDifference(other[table] ?? []).map { "\(table): \($0)" }.sorted()
    }
    #expect(differences == [], sourceLocation: sourceLocation)
}

/// What an undisturbed night leaves of the ledger.
func undisturbedLedger(customers: Int = 200, seed: UInt64 = 7) async throws -> [String: [String]] {
    try await undisturbedNights.ledger(of: .init(customers: customers, seed: seed))
}

private let undisturbedNights = UndisturbedNights()

/// Each world's undisturbed night is played once, for all tests that compare theirs with it.
private actor UndisturbedNights {
    struct PlayedWorld: Hashable {
        let customers: Int
        let seed: UInt64
    }

    private var nights: [PlayedWorld: Task<[String: [String]], any Error>] = [:]

    func ledger(of world: PlayedWorld) async throws -> [String: [String]] {
        let night =
            nights[world]
            ?? Task {
                try await withStage(customers: world.customers, seed: world.seed) { stage in
                    _ = try await stage.run()
                    return try await stage.ledger()
                }
            }
        nights[world] = night
        return try await night.value
    }
}

private let playedWorlds = PlayedWorlds()

/// Each world is played once: a stage's database is a copy of what that left.
private actor PlayedWorlds {
    private var worlds: [WorldSettings: Task<(World, ScratchDatabase), any Error>] = [:]

    func played(_ settings: WorldSettings) async throws -> (World, ScratchDatabase) {
        let world =
            worlds[settings]
            ?? Task {
                let world = World(settings)
                let database = try await ScratchDatabase.kept { database in
                    try await WorldStage.open(world, on: database.conninfo) { try await $0.play() }
                }
                return (world, database)
            }
        worlds[settings] = world
        return try await world.value
    }
}

/// Hands the stage of a world to the body.
func withStage<Value>(
    customers: Int = 200, seed: UInt64 = 7, faults: Faults = .none, outageAfter: Int? = nil,
    _ body: (Stage) async throws -> Value
) async throws -> Value {
    let (world, played) = try await playedWorlds.played(
        try WorldSettings(seed: seed, customers: customers, days: 5, now: Stage.now))
    let store = SimulatedAppStore(
        seed: seed, records: world.records, faults: faults, outageAfter: outageAfter, now: { Stage.now })
    let addresses = try store.start()
    defer { store.stop() }
    let roots = try RootsFile(of: store)
    defer { roots.remove() }
    return try await played.withCopy { database async throws -> Value in
        var settings = jobSettings(world.settings, database, addresses, roots)
        settings.batchSize = 50
        return try await body(Stage(database: database, store: store, world: world, settings: settings))
    }
}
