import Commands
import Foundation
import PostgreSQL
import SimulatedWorld

/// What the benchmarks use: a private cluster, the built programs, and a folder for their output.
struct Bench {
    static let seed: UInt64 = 1
    static let bundleID = "com.example.game"

    let cluster: String
    let programs: String
    let scratch: String

    // MARK: Databases

    func conninfo(_ database: String) -> String { "host=\(cluster) user=postgres dbname=\(database)" }

    /// Creates a database with the schema.
    func createDatabase(_ name: String) async throws {
        try await administer("CREATE DATABASE \(identifier: name)")
        _ = try await SchemaUpdate.migrate(database: conninfo(name))
    }

    func hasDatabase(_ name: String) async throws -> Bool {
        let connection = try await Connection.connect(ConnectionSettings(conninfo("postgres")))
        defer { connection.close() }
        return try await !connection.query("SELECT FROM pg_database WHERE datname = \(name)").isEmpty
    }

    /// Copies a database that nobody is connected to.
    func copyDatabase(_ source: String, to name: String) async throws {
        try await administer("CREATE DATABASE \(identifier: name) TEMPLATE \(identifier: source) STRATEGY file_copy")
    }

    func dropDatabase(_ name: String) async throws {
        try await administer("DROP DATABASE IF EXISTS \(identifier: name) WITH (FORCE)")
    }

    /// Runs a statement in a database, and leaves it as if its rows had been there for long.
    func execute(_ sql: SQL, in database: String) async throws {
        try await fill(database) { try await $0.execute(sql) }
    }

    /// Fills a database, and leaves it as if its rows had been there for long.
    func fill(_ database: String, by work: (Connection) async throws -> Void) async throws {
        let connection = try await Connection.connect(ConnectionSettings(conninfo(database)))
        defer { connection.close() }
        try await work(connection)
        try await connection.execute("VACUUM ANALYZE")
    }

    private func administer(_ sql: SQL) async throws {
        let connection = try await Connection.connect(ConnectionSettings(conninfo("postgres")))
        defer { connection.close() }
        try await connection.execute(sql)
        try await connection.execute("CHECKPOINT")
    }

    /// A database with this many receipts in its inbox, made if it isn't there yet. Don't write to it: use
    /// `copyDatabase` for that.
    func filledDatabase(receipts: Int, transactions: Int = 10) async throws -> String {
        let name = "filled_\(receipts)_\(transactions)"
        if try await hasDatabase(name) { return name }
        try await createDatabase(name)
        let inbox = try InboxFill(seed: Self.seed, receipts: receipts, transactions: transactions, now: Date())
        _ = try await inbox.fill(conninfo(name))
        try await execute("SELECT", in: name)
        return name
    }

    // MARK: The simulated App Store

    /// Runs the body beside a simulated App Store, in its own process, that answers after so many milliseconds.
    ///
    /// - Parameters:
    ///   - tail: the milliseconds for a hundredth of the answers, if they are not all the same.
    ///   - faults: in the simulator's notation.
    func withStore<Value>(
        latency: Int = 0, tail: Int? = nil, faults: String? = nil, _ body: (_ base: String) async throws -> Value
    ) async throws -> Value {
        let portFile = "\(scratch)/port"
        try? FileManager.default.removeItem(atPath: portFile)
        let delay =
            latency > 0 ? ["--latency-ms", "\(latency)", "--latency-p99-ms", "\(tail ?? latency)"] : []
        let broken = faults.map { ["--faults", $0] } ?? []
        let store = try Program(
            "\(programs)/appstore-simulator",
            ["serve", "--seed", "\(Self.seed)", "--port-file", portFile] + delay + broken,
            output: "\(scratch)/store.log")
        defer { store.stop() }
        for _ in 0..<1000 {
            if let text = try? String(contentsOfFile: portFile, encoding: .utf8), let port = UInt16(text.dropLast()) {
                return try await body("http://127.0.0.1:\(port)")
            }
            try await Task.sleep(for: .milliseconds(10))
        }
        throw BenchmarkError("the simulated App Store did not start; see \(scratch)/store.log")
    }

    // MARK: The job

    /// Writes the configuration of a night on a database to a file.
    ///
    /// - Parameters:
    ///   - grace: the age from which on a purchase is a case.
    ///   - run, apple, app: further lines of these sections.
    func configuration(
        database: String, store: String, grace: String = "1h", run: String = "", apple: String = "", app: String = ""
    ) throws -> String {
        let file = "\(scratch)/\(database).conf"
        let text = """
            [database]
            conninfo = \(conninfo(database))
            [apple]
            verify_receipt_production = \(store)/production/verifyReceipt
            verify_receipt_sandbox = \(store)/sandbox/verifyReceipt
            \(apple)
            [report]
            directory = \(scratch)/reports
            [run]
            \(run)
            [app \(Self.bundleID)]
            environment = production
            grace = \(grace)
            consumable = claim
            \(app)

            """
        try text.write(toFile: file, atomically: true, encoding: .utf8)
        return file
    }

    /// Runs the job to its end.
    func night(_ configuration: String, log: String = "night") async throws -> Program.Ended {
        try await Program.run(
            "\(programs)/iap-reconcile", ["run", "--config", configuration, "--verbose"],
            output: "\(scratch)/\(log).log")
    }
}
