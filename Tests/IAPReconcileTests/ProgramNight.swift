import AppStoreSimulator
import SimulatedWorld
import Foundation
import PostgreSQL
import TestSupport
import Testing

/// The program as cron starts it, with a database, a simulated App Store and a configuration file of its own.
struct ProgramNight {
    static let now = Date(timeIntervalSince1970: 1_790_000_000)

    let database: ScratchDatabase
    let folder: URL
    var reports: String { folder.appending(path: "reports").path(percentEncoded: false) }

    static var program: String {
        // Beside the test bundle, where SwiftPM puts every product of a build.
        URL(filePath: CommandLine.arguments[0]).deletingLastPathComponent()
            .appending(path: "iap-reconcile").path(percentEncoded: false)
    }

    var configuration: String { folder.appending(path: "iap-reconcile.conf").path(percentEncoded: false) }
    fileprivate var roots: String { folder.appending(path: "roots.pem").path(percentEncoded: false) }

    fileprivate func secretFile(of app: String) -> String { folder.appending(path: app).path(percentEncoded: false) }

    /// The arguments of a run at the world's end.
    var run: [String] {
        ["run", "--config", configuration, "--now", Self.now.formatted(.iso8601), "--replay"]
    }

    /// Every row of the ledger as text, without what tells of the hour and the run.
    func ledger() async throws -> [String] {
        let connection = try await database.connect()
        defer { connection.close() }
        let passing = [
            "first_run_id", "run_id", "refund_run_id", "opened_run_id", "first_seen_at", "excluded_at", "opened_at",
            "assessed_at", "assessed_run_id", "reopened_run_id", "told_run_id", "seal",
        ]
        var rows: [String] = []
        for table in ["iap.white", "iap.black", "iap.excluded", "iap.sightings", "iap.cases"] {
            let query: SQL = """
                SELECT (to_jsonb(content) - \(passing)::text[])::text AS content
                FROM \(unsafe: table) AS content
                ORDER BY 1
                """
            rows += try await connection.query(query).map { "\(table) \(try $0.decode("content", as: String.self))" }
        }
        return rows
    }

    /// Of every table that a run may change, how many rows it has and a hash over them.
    func fingerprint() async throws -> [String] {
        let connection = try await database.connect()
        defer { connection.close() }
        let tables = ["receipts", "transactions", "moves", "sightings", "cases", "books", "runs", "events"]
        var prints: [String] = []
        for table in tables {
            let query: SQL = """
                SELECT count(*) AS rows, md5(coalesce(string_agg(content::text, ',' ORDER BY content::text), '')) AS hash
                FROM \(unsafe: "iap." + table) AS content
                """
            let row = try #require(try await connection.query(query).first)
            prints.append("\(table) \(try row.decode("rows", as: Int.self)) \(try row.decode("hash", as: String.self))")
        }
        return prints
    }
}

/// Plays a world and hands everything that a run of the program needs to the body.
func withProgramNight<Value>(
    customers: Int = 210, latency: Latency? = nil, _ body: (ProgramNight) async throws -> Value
) async throws -> Value {
    let world = World(try WorldSettings(seed: 7, customers: customers, days: 5, now: ProgramNight.now))
    let store = SimulatedAppStore(
        seed: 7, records: world.records, latency: latency, now: { ProgramNight.now })
    let addresses = try store.start()
    defer { store.stop() }
    return try await withScratchDatabase { database async throws -> Value in
        try await WorldStage.open(world, on: database.conninfo) { try await $0.play() }
        return try await withTemporaryFolder { folder in
            let night = ProgramNight(database: database, folder: folder)
            try write(store.rootCertificatesPEM, to: night.roots)
            try write(configurationText(world, addresses, night), to: night.configuration)
            for app in World.storeApps(seed: 7) {
                guard let secret = app.sharedSecret else { continue }
                try write(secret, to: night.secretFile(of: app.bundleID), mode: 0o600)
            }
            return try await body(night)
        }
    }
}

private func configurationText(
    _ world: World, _ addresses: SimulatedAppStore.Addresses, _ night: ProgramNight
) -> String {
    let apps = World.apps.map { app in
        """
        [app \(app.bundleID)]
        shared_secret_file = \(night.secretFile(of: app.bundleID))
        \(app.configuration(world.settings))

        """
    }
    return """
        [database]
        conninfo = \(night.database.conninfo(as: "iap_job"))
        import_conninfo = \(night.database.conninfo(as: "iap_import"))
        [apple]
        verify_receipt_production = \(addresses.productionVerifyReceipt)
        verify_receipt_sandbox = \(addresses.sandboxVerifyReceipt)
        root_certificates = \(night.roots)
        [run]
        batch_size = 20
        [report]
        directory = \(night.reports)

        """ + apps.joined() + CompanyTables.configuration(conninfo: night.database.conninfo)
}

func write(_ text: String, to file: String, mode: Int = 0o644) throws {
    try Data(text.utf8).write(to: URL(filePath: file))
    try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: file)
}
