import AppStoreSimulator
import Foundation
import PostgreSQL
import SimulatedWorld
import TestSupport

/// The database and folder of one scenario.
struct Stage: Sendable {
    let theatre: Theatre
    let database: String
    let folder: String

    /// Longer than any disturbed run may take: a job that takes longer has hung.
    static let patience = 120.0

    var reports: String { "\(folder)/reports" }
    var superuser: String { theatre.cluster.superuserConninfo(database: database) }

    /// The job as cron starts it, undisturbed.
    var job: Job {
        let own = [
            "apple": [
                "timeout": "5s", "root_certificates": Theatre.roots(in: theatre.scratch),
                "app_store_connect": theatre.store.appStoreConnect,
            ],
            "sales": [
                "vendor_number": SalesReport.vendorNumber, "issuer_id": APIKey.issuerID, "key_id": APIKey.keyID,
                "key_file": Theatre.key(in: theatre.scratch),
            ],
            "run": ["batch_size": "20"],
            "database": ["import_conninfo": theatre.cluster.conninfo(user: "iap_import", database: database)],
        ]
        return Job(
            conninfo: theatre.cluster.conninfo(user: "iap_job", database: database), store: theatre.store.base,
            reports: reports, settings: own.merging(Shop.sections(conninfo: superuser)) { own, _ in own })
    }

    func connect(as user: String = "postgres") async throws -> Connection {
        try await .connect(ConnectionSettings(theatre.cluster.conninfo(user: user, database: database)))
    }

    // MARK: The job

    /// Runs the job to its end and asserts how it ends.
    @discardableResult
    func run(
        _ job: Job, expecting codes: Set<Int32>, beside body: (ChildProcess) async throws -> Void = { _ in }
    ) async throws -> ChildProcess.Ended {
        let ended = try await run(job, beside: body)
        guard codes.contains(ended.status) else {
            throw Broken(
                "the job ended with \(ended.status), not \(codes.sorted().map(String.init).joined(separator: " or ")):\n"
                    + ended.errors + ended.output)
        }
        return ended
    }

    /// Runs the job to its end, however it ends, while the body runs.
    func run(
        _ job: Job, beside body: (ChildProcess) async throws -> Void = { _ in }
    ) async throws -> ChildProcess.Ended {
        let configuration = try write(job)
        let line = [theatre.program] + job.arguments(configuration: configuration)
        let words = job.shell.map { ["/bin/sh", "-c", $0, "sh"] + line } ?? line
        let environment = ProcessInfo.processInfo.environment.merging(job.environment) { _, own in own }
        return try await ChildProcess.with(words[0], Array(words.dropFirst()), environment: environment) { child in
            let watch = Task {
                try await Task.sleep(for: .seconds(Self.patience))
                child.send(signal: SIGKILL)
                return true
            }
            try await body(child)
            let ended = await child.waitUntilEnded()
            watch.cancel()
            if (try? await watch.value) ?? false {
                throw Broken("the job hung: it was killed after \(Self.patience) seconds\n\(ended.errors)")
            }
            return ended
        }
    }

    private func write(_ job: Job) throws -> String {
        let file = "\(folder)/\(UUID().uuidString).conf"
        try writePrivately(
            job.configuration(secrets: theatre.scratch, world: theatre.world.settings), to: file)
        return file
    }

    // MARK: What came of it

    /// PostgreSQL frees a dead run's locks when it reads from the connection that was cut.
    func waitUntilPostgreSQLNoticed() async throws {
        let connection = try await connect()
        defer { connection.close() }
        let others: SQL = """
            SELECT FROM pg_stat_activity
            WHERE datname = current_database() AND usename IN ('iap_job', 'iap_import') AND backend_type = 'client backend'
            """
        let end = ContinuousClock.now + .seconds(60)
        while try await !connection.query(others).isEmpty {
            guard ContinuousClock.now < end else { throw Broken("a session of the job's outlives it by a minute") }
            try await Task.sleep(for: .milliseconds(5))
        }
    }

    /// Lets an undisturbed run finish the night, and compares.
    func finishAndCompare(_ part: (Snapshot) throws -> Snapshot = { $0 }) async throws {
        try await waitUntilPostgreSQLNoticed()
        try await run(job, expecting: [0])
        try await compare(part)
    }

    /// As `finishAndCompare`, after a night without Apple. Left out are the terms of deliveries: a signature may have
    /// proved by then what Apple is asked about otherwise.
    func finishWithAppleAndCompare() async throws {
        try await finishAndCompare { try $0.leavingOutTermsOfDeliveries() }
    }

    /// Compares what the night left with an undisturbed run's.
    ///
    /// - Parameter part: what of it must be the same.
    func compare(_ part: (Snapshot) throws -> Snapshot = { $0 }) async throws {
        try await Invariants(stage: self).check()
        try part(await snapshot()).expectSame(as: part(theatre.undisturbed))
    }

    /// Runs the two nights after, undisturbed.
    func runLaterNights() async throws {
        var night = job
        night.store = theatre.laterStore.base
        for _ in 0..<2 {
            night.now += Theatre.day
            try await run(night, expecting: [0])
        }
    }

    /// Lets undisturbed runs do the next two nights, and compares with three undisturbed ones, in which Apple was first
    /// asked on another day: whose transactions they are, and which are lost. Left out is what differs: purchases since
    /// then, and cases that a refund closed before they were reported.
    func finishLaterNightsAndCompareFindings() async throws {
        try await runLaterNightsAndCheck()
        let findings = { (night: Snapshot) in
            try night.keeping(["white", "black", "report's cases"]).leavingOut(boughtAfter: Theatre.now)
                .leavingOut(deliveredRefundedAfter: Theatre.now - Theatre.day).leavingOutTermsOfDeliveries()
                .leavingOutReceiptsOfCases()
        }
        try findings(try await snapshot(ofNights: true)).expectSame(as: try findings(theatre.undisturbedLater))
    }

    private func runLaterNightsAndCheck() async throws {
        try await waitUntilPostgreSQLNoticed()
        try await runLaterNights()
        try await Invariants(stage: self).check()
    }

    /// A hash over every table that the job may change.
    func fingerprint() async throws -> [String] {
        let connection = try await connect()
        defer { connection.close() }
        var prints: [String] = []
        for table in ["receipts", "transactions", "moves", "sightings", "cases", "books", "runs", "events"] {
            let rows = try await connection.query(
                """
                SELECT md5(coalesce(string_agg(content::text, ',' ORDER BY content::text), '')) AS hash
                FROM \(unsafe: "iap." + table) AS content
                """)
            prints += try rows.map { "\(table) \(try $0.decode("hash", as: String.self))" }
        }
        return prints
    }

    /// - Parameter ofNights: leaves out what counts nights, too.
    func snapshot(ofNights: Bool = false) async throws -> Snapshot {
        let connection = try await connect()
        defer { connection.close() }
        return try await Snapshot(connection, report: "\(reports)/latest/report.json", ofNights: ofNights)
    }
}
