import AppStoreSimulator
import Foundation
import PostgreSQL
import SimulatedWorld
import TestSupport

/// What all scenarios share: a private cluster with the world in a database that nobody writes to, Apple's side of that
/// world, and the result of an undisturbed run.
struct Theatre: Sendable {
    /// The moment at which every night is played.
    static let now = Date(timeIntervalSince1970: 1_790_000_000)
    static let day: TimeInterval = 86_400

    let world: World
    let database: ScratchDatabase
    let scratch: String
    let program: String
    /// A store that answers everything, after a few milliseconds.
    let store: SimulatedAppStore.Addresses
    private(set) var undisturbed = Snapshot()
    /// The same store two days later.
    let laterStore: SimulatedAppStore.Addresses
    /// The result of two more nights: by then Apple has confirmed everything often enough, also what had to wait for
    /// the second night.
    private(set) var undisturbedLater = Snapshot()
    /// The checkpoints that an undisturbed run passes, in order.
    private(set) var passages: [String] = []

    var cluster: ScratchCluster { database.cluster }
    var worldText: String {
        "\(undisturbed.count(of: "receipts")) receipts, \(undisturbed.count(of: "white")) white, "
            + "\(undisturbed.count(of: "black")) black, \(undisturbed.count(of: "excluded")) excluded, "
            + "\(undisturbed.count(of: "cases")) cases; \(passages.count) checkpoints passed in an undisturbed run"
    }

    /// The file of the root certificates of what the store signs.
    static func roots(in scratch: String) -> String { "\(scratch)/roots.pem" }
    /// The file of the key for the App Store Server API.
    static func key(in scratch: String) -> String { "\(scratch)/server-api.p8" }

    /// Runs the body with a fresh copy of the world's database and a folder of its own; both are removed afterwards.
    func withStage<Value>(_ body: (Stage) async throws -> Value) async throws -> Value {
        let name = "night_\(UUID().uuidString.prefix(8).lowercased())"
        let folder = "\(scratch)/\(name)"
        // The other strategy copies sequences that a crash would set back.
        try await administer(
            "CREATE DATABASE \(identifier: name) TEMPLATE \(identifier: database.name) STRATEGY file_copy")
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        let stage = Stage(theatre: self, database: name, folder: folder)
        do {
            let value = try await body(stage)
            try await strike(stage)
            return value
        } catch {
            try? await strike(stage)
            throw error
        }
    }

    private func strike(_ stage: Stage) async throws {
        try? FileManager.default.removeItem(atPath: stage.folder)
        try await administer("DROP DATABASE IF EXISTS \(identifier: stage.database) WITH (FORCE)")
    }

    func administer(_ sql: SQL) async throws {
        let connection = try await Connection.connect(ConnectionSettings(cluster.superuserConninfo()))
        defer { connection.close() }
        try await connection.execute(sql)
    }

    /// Runs the body beside another store of the same world.
    @discardableResult
    func withStore<Value>(
        faults: Faults = .none, latency: Latency? = nil, outageAfter: Int? = nil, clock: TimeInterval = 0,
        tls: Bool = false, _ body: (SimulatedAppStore, SimulatedAppStore.Addresses) async throws -> Value
    ) async throws -> Value {
        let store = SimulatedAppStore(
            seed: world.settings.seed, records: world.records, faults: faults, latency: latency,
            outageAfter: outageAfter, now: { Theatre.now.addingTimeInterval(clock) })
        let addresses = try store.start(tlsPort: tls ? 0 : nil)
        defer { store.stop() }
        return try await body(store, addresses)
    }

    /// Plays the undisturbed nights.
    fileprivate mutating func rehearse() async throws {
        let passed = "\(scratch)/passages"
        try? FileManager.default.removeItem(atPath: passed)
        (undisturbed, undisturbedLater) = try await withStage { stage in
            var job = stage.job
            job.environment["IAP_CHECKPOINTS"] = passed
            try await stage.run(job, expecting: [0])
            let first = try await stage.snapshot()
            try await stage.runLaterNights()
            return (first, try await stage.snapshot(ofNights: true))
        }
        passages = try String(contentsOfFile: passed, encoding: .utf8).split(separator: "\n").map(String.init)
        let twin = try await withStage { stage in
            try await stage.run(stage.job, expecting: [0])
            return try await stage.snapshot()
        }
        try twin.expectSame(as: undisturbed)
    }
}

/// Writes a file that nobody else may read, as the job requires of secrets.
func writePrivately(_ text: String, to file: String) throws {
    try Data(text.utf8).write(to: URL(filePath: file))
    try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: file)
}

/// Plays the world into its own cluster, and passes the theatre to the body.
func withTheatre<Value>(_ options: Options, _ body: (Theatre) async throws -> Value) async throws -> Value {
    try FileManager.default.createDirectory(atPath: options.scratch, withIntermediateDirectories: true)
    let world = World(
        try WorldSettings(
            seed: options.seed, customers: 220, days: 5, now: Theatre.now, mishapShare: 0.5, claimsOnly: true,
            keys: ["com.example.game"]))
    let store = SimulatedAppStore(
        seed: options.seed, records: world.records, latency: try Latency(median: 0.003, percentile99: 0.012),
        now: { Theatre.now })
    store.handOut { day in try? Gzip.compressed(Array(world.salesReport(of: day).text.utf8)) }
    let addresses = try store.start()
    defer { store.stop() }
    let later = SimulatedAppStore(
        seed: options.seed, records: world.records, now: { Theatre.now.addingTimeInterval(2 * Theatre.day) })
    let laterAddresses = try later.start()
    defer { later.stop() }
    return try await withScratchDatabase { database async throws -> Value in
        try Data(store.rootCertificatesPEM.utf8).write(to: URL(filePath: Theatre.roots(in: options.scratch)))
        try writePrivately(store.apiKey.privateKeyPEM, to: Theatre.key(in: options.scratch))
        for app in World.storeApps(seed: options.seed) {
            guard let secret = app.sharedSecret else { continue }
            try writePrivately(secret, to: "\(options.scratch)/\(app.bundleID)")
        }
        try await WorldStage.open(world, on: database.conninfo) { try await $0.play() }
        let connection = try await database.connect()
        try await Shop(world: world).open(in: connection)
        connection.close()
        var theatre = Theatre(
            world: world, database: database, scratch: options.scratch,
            program: "\(options.programs)/iap-reconcile", store: addresses,
            laterStore: laterAddresses)
        try await theatre.rehearse()
        return try await body(theatre)
    }
}
