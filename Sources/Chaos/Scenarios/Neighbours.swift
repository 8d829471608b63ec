import Foundation
import PostgreSQL
import TestSupport

/// Other activity in the database during a night.
enum Neighbours {
    static func scenarios(points: Int) -> [Scenario] {
        fullServers + migrations(points: points) + sessions
    }

    private static var fullServers: [Scenario] {
        [
            Scenario("slots-at-start", "every connection slot taken for a second when the job begins") { stage, _ in
                try await withEverySlotTaken(stage) { free in
                    try await stage.run(stage.job, expecting: [0]) { _ in
                        try await Task.sleep(for: .seconds(1))
                        free()
                    }
                }
                try await stage.compare()
            },
            Scenario("slots-taken", "every connection slot taken all night, then a run") { stage, _ in
                try await withEverySlotTaken(stage) { _ in
                    try await stage.run(stage.job.impatient, expecting: [69])
                }
                try await stage.finishAndCompare()
            },
            Scenario("slots-amid", "every connection slot taken before the workers connect") { stage, _ in
                let job = stage.job.impatient.signalled(at: "runBegun", passage: 1, signal: SIGSTOP)
                try await stage.run(job, expecting: [75]) { child in
                    guard try await child.waitUntilStopped() else { return }
                    try await withEverySlotTaken(stage) { _ in
                        child.send(signal: SIGCONT)
                        _ = await child.waitUntilEnded()
                    }
                }
                try await stage.finishAndCompare()
            },
        ]
    }

    private static func migrations(points: Int) -> [Scenario] {
        [
            Scenario("migration-lock", "a migration locks every table for two seconds", points: max(3, points / 10)) {
                stage, point in
                var random = point.random
                let job = Moment(&random, of: stage).signal(stage.job, SIGSTOP)
                try await stage.run(job, expecting: [0]) { child in
                    guard try await child.waitUntilStopped() else { return }
                    try await withTablesLocked(stage, letting: child) { try await Task.sleep(for: .seconds(2)) }
                }
                try await stage.compare()
            },
            Scenario("migration-stays", "a migration's lock that stays all night, then a run") { stage, _ in
                try await withTablesLocked(stage, letting: nil) {
                    try await stage.run(stage.job.impatient, expecting: [75])
                }
                try await stage.finishAndCompare()
            },
        ]
    }

    /// Those that read, or that hold what they have locked.
    private static var sessions: [Scenario] {
        [
            Scenario("idle-reader", "a session idle in a transaction that has read everything") { stage, _ in
                let reader = try await stage.connect()
                defer { reader.close() }
                try await reader.execute("BEGIN ISOLATION LEVEL REPEATABLE READ")
                _ = try await reader.query("SELECT count(*) FROM iap.receipts, iap.transactions")
                try await stage.run(stage.job, expecting: [0])
                try await stage.compare()
            },
            Scenario("idle-claimer", "sessions idle in a transaction that holds claims, then the next nights") {
                stage, _ in
                let claimer = try await openClaims(stage)
                defer { claimer.close() }
                let ended = try await stage.run(stage.job.impatient, expecting: [75])
                guard ended.output.contains("locks") else {
                    throw Broken("the summary names no lock:\n\(ended.output)")
                }
                try await claimer.execute("ROLLBACK")
                // What a source tells of them is taken a night later, and Apple is asked about their receipts once
                // more.
                try await stage.finishLaterNightsAndCompareFindings()
            },
            Scenario("finance-readers", "four finance readers with repeatable-read scans, all night") { stage, _ in
                try await stage.run(stage.job, expecting: [0]) { child in
                    try await withThrowingTaskGroup(of: Void.self) { group in
                        for _ in 0..<4 { group.addTask { try await readAsFinance(stage, while: child) } }
                        try await group.waitForAll()
                    }
                }
                try await stage.compare()
            },
        ]
    }

    /// Opens a session with a transaction that claimed some purchases, and leaves it open.
    static func openClaims(_ stage: Stage) async throws -> Connection {
        let claimer = try await stage.connect()
        try await claimer.execute("BEGIN")
        let claimed = try await claimer.query(
            """
            SELECT iap.claim(bundle_id, transaction_id, coalesce(admitted_user_id, 'someone'), NULL) AS outcome
            FROM (SELECT * FROM iap.white ORDER BY transaction_id LIMIT 3) AS chosen
            """)
        guard !claimed.isEmpty else { throw Broken("the world has no white transaction before its night") }
        return claimer
    }

    /// Takes connections until the server has none left, as long as the body runs or until it frees them.
    private static func withEverySlotTaken(
        _ stage: Stage, _ body: (_ free: () -> Void) async throws -> Void
    ) async throws {
        let taken = try await everySlot(stage)
        let free = { for connection in taken { connection.close() } }
        defer { free() }
        try await body(free)
    }

    private static func everySlot(_ stage: Stage) async throws -> [Connection] {
        var taken: [Connection] = []
        do {
            while taken.count < 1000 { taken.append(try await stage.connect(as: "iap_app")) }
        } catch let error as PostgreSQLError {
            guard error.sqlState == .tooManyConnections else { throw error }
        }
        return taken
    }

    /// Locks every table as a migration does, while the body runs. A job that is stopped may go on as soon as the lock
    /// is requested: it may have to end what the lock waits for.
    private static func withTablesLocked(
        _ stage: Stage, letting child: ChildProcess?, _ body: () async throws -> Void
    ) async throws {
        let migration = try await stage.connect()
        defer { migration.close() }
        child?.send(signal: SIGCONT)
        try await migration.transaction {
            try await migration.execute(
                "LOCK TABLE iap.receipts, iap.transactions, iap.moves, iap.cases, iap.runs")
            try await body()
        }
    }

    private static func readAsFinance(_ stage: Stage, while child: ChildProcess) async throws {
        let reader = try await stage.connect(as: "iap_finance")
        defer { reader.close() }
        let views = try await reader.query("SELECT viewname FROM pg_views WHERE schemaname = 'finance'")
            .map { try $0.decode("viewname", as: String.self) }
        while child.isRunning {
            try await reader.transaction(.repeatableRead, readOnly: true) {
                for view in views { _ = try await reader.query("SELECT * FROM \(unsafe: "finance.\(view)")") }
            }
        }
    }
}

extension Job {
    /// The job with a patience of only seconds.
    var impatient: Job { with("database", ["patience": "2s"]) }
}
