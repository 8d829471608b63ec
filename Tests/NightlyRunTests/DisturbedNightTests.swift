import Foundation
import Job
import NightlyRun
import PostgreSQL
import Reconciliation
import Synchronization
import TestSupport
import Testing

/// Nights on which others are in the way in the database.
@Suite struct DisturbedNightTests {
    @Test func getsOverTheLossOfAllItsSessions() async throws {
        let undisturbed = try await undisturbedLedger(customers: 85)
        try await withStage(customers: 85) { stage in
            let (report, losses) = try await Self.run(stage) { try await Self.endSessions($0) }
            #expect(report.outcome == .complete)
            let runs = losses.map(\.runID)
            #expect(!runs.isEmpty && runs.allSatisfy { $0 != nil && $0 == report.runID })
            #expect(report.receipts.left == 0)
            expectSame(try await stage.ledger(), undisturbed)
        }
    }

    /// A small night is one batch: where its session ends before anything is recorded, nothing else comes after it. What it
    /// had in hand, and what Apple was being asked about, counts no more towards the run's limit.
    @Test(arguments: [false, true]) func triesAgainWhatAWorkerHadInHandWhenItWasLost(isLimited: Bool) async throws {
        let undisturbed = try await undisturbedLedger(customers: 20)
        try await withStage(customers: 20) { stage in
            var stage = stage
            if isLimited { stage.settings.batchSize = 5 }
            let admin = try await stage.database.connectLocking("iap.sightings", in: "EXCLUSIVE")
            defer { admin.close() }
            let waiting = try await admin.query("SELECT count(*) AS n FROM iap.receipts WHERE state = 'waiting'").first
            let due = Int(try #require(waiting).decode("n", as: Int64.self))
            async let run = stage.run(RunOptions(limit: isLimited ? due : nil, now: Stage.now))
            try await stage.database.waitUntilSomebodyWaitsForALock()
            try await Self.endSessions(admin)
            try await admin.execute("ROLLBACK")
            let report = try await run.report
            #expect(report.outcome == .complete)
            #expect(report.receipts.verified > 0 && report.receipts.left == 0)
            expectSame(try await stage.ledger(), undisturbed)
        }
    }

    /// Its sessions end, and for a while the server lets in nobody: too many clients, or a restart.
    @Test func waitsForADatabaseThatRefusesConnections() async throws {
        let undisturbed = try await undisturbedLedger(customers: 85)
        try await withStage(customers: 85) { stage in
            let database = stage.database
            let (report, losses) = try await Self.run(stage) { admin in
                try await Self.refuse(admin, database)
                try await Task.sleep(for: .seconds(2))
                try await Self.allow(-1, to: database, admin)
            }
            // A night that was over before would show nothing.
            #expect(!losses.isEmpty)
            #expect(report.outcome == .complete)
            #expect(report.receipts.left == 0)
            expectSame(try await stage.ledger(), undisturbed)
        }
    }

    /// The server has room for the run and for one of the two workers that so many receipts are worth, besides the one
    /// that watches.
    @Test func aWorkerThatIsLetInDoesTheWorkOfThoseThatAreNot() async throws {
        try await withPlay { play in
            var hurried = play
            hurried.settings.patience = 0
            let admin = try await play.database.connect()
            defer { admin.close() }
            _ = try await admin.query(
                """
                SELECT iap.submit_receipt(\(Play.bundleID), 'u' || n, 'no receipt ' || n)
                FROM generate_series(1, 520) AS n
                """)
            try await Self.allow(3, to: play.database, admin)
            let report = try await hurried.night().report
            #expect(report.outcome == .complete && report.receipts.tried == 520)
            try await Self.allow(-1, to: play.database, admin)
        }
    }

    /// Not for ever: what was recorded stays, and the run is to be started again.
    @Test func aDatabaseThatStaysClosedEndsTheNightToBeTriedAgain() async throws {
        try await withStage(customers: 85) { stage in
            let database = stage.database
            var hurried = stage
            hurried.settings.patience = 1
            await #expect {
                _ = try await Self.run(hurried) { try await Self.refuse($0, database) }
            } throws: { error in
                (error as? JobError)?.exitCode == .tryLater && "\(error)".contains("too many connections")
            }
            let admin = try await database.connect()
            defer { admin.close() }
            try await Self.allow(-1, to: database, admin)
            #expect(try await stage.run().report.outcome == .complete)
        }
    }

    /// What was pulled and heard by then is booked, so that nobody is told that nothing was processed.
    @Test func aDatabaseThatGoesBeforeTheInboxIsReadEndsTheNightToBeTriedAgain() async throws {
        try await withStage(customers: 20) { stage in
            let admin = try await stage.database.connect()
            defer { admin.close() }
            // In the way of hearing, once the run has its row.
            let holder = try await stage.database.connectLocking("iap.handed_notices")
            defer { holder.close() }
            var hurried = stage
            hurried.settings.patience = 1
            async let run = hurried.run()
            try await waitUntil("the run has its row") { try await !admin.query("SELECT FROM iap.runs").isEmpty }
            try await Self.refuse(admin, stage.database)
            do {
                _ = try await run
                Issue.record("the run went on without a database")
            } catch {
                #expect((error as? JobError)?.exitCode == .tryLater && "\(error)".contains("waits for the next night"))
            }
            try await Self.allow(-1, to: stage.database, admin)
            #expect(try await stage.run().report.outcome == .complete)
        }
    }

    /// The database is back at once, and the night goes on where it was.
    @Test func aSessionThatIsLostBeforeTheInboxIsReadIsMadeUpFor() async throws {
        try await withStage(customers: 20) { stage in
            let admin = try await stage.database.connect()
            defer { admin.close() }
            // In the way of hearing, once the run has its row.
            let holder = try await stage.database.connectLocking("iap.handed_notices")
            defer { holder.close() }
            async let run = stage.run()
            try await stage.database.waitUntilSomebodyWaitsForALock()
            // With what is in the way.
            try await Self.endSessions(admin)
            #expect(try await run.report.outcome == .complete)
            #expect(try await stage.rows(of: "iap.runs").count == 1)
        }
    }

    /// From the row on the night is one run, whose row says how it ended: nobody killed it.
    @Test func aLockInTheWayOfHearingIsWaitedForInTheSameRun() async throws {
        try await withStage(customers: 20) { stage in
            let holder = try await stage.database.connectLocking("iap.handed_notices")
            defer { holder.close() }
            var hurried = stage
            hurried.settings.patience = 3
            do {
                _ = try await hurried.run()
                Issue.record("the run went on although a table was locked")
            } catch {
                #expect((error as? JobError)?.exitCode == .tryLater && "\(error)".contains("lock"), "\(error)")
            }
            try await holder.execute("ROLLBACK")
            let rows = try await stage.rows(of: "iap.runs")
            #expect(rows.count == 1)
            #expect(rows.allSatisfy { $0.contains(#""exit_code": 75"#) && $0.contains("stays in the way") }, "\(rows)")
            #expect(rows.allSatisfy { $0.contains("held by session") }, "\(rows)")
            #expect(try await stage.run().report.outcome == .complete)
            #expect(try await stage.rows(of: "iap.runs").allSatisfy { !$0.contains("abandoned") })
        }
    }

    /// Runs a night whose database somebody disturbs once something was recorded. Gives its report, and each entry of
    /// its log that tells of a lost session.
    private static func run(
        _ stage: Stage, disturbedBy disturb: @escaping @Sendable (Connection) async throws -> Void
    ) async throws -> (report: RunReport, losses: [LogEntry]) {
        let isCut = Once()
        let losses = Mutex<[LogEntry]>([])
        let database = stage.database
        let run = try await stage.run(
            progress: { progress in
                guard progress.done > 0, isCut.isFirst() else { return }
                Task {
                    let admin = try await database.connect()
                    defer { admin.close() }
                    try await disturb(admin)
                }
            },
            log: { entry in
                if entry.message.hasPrefix("lost the database") { losses.withLock { $0.append(entry) } }
            })
        return (run.report, losses.withLock { $0 })
    }

    /// Lets in so many sessions, or as many as come for -1. A superuser's is counted, and never refused.
    private static func allow(_ sessions: Int, to database: ScratchDatabase, _ admin: Connection) async throws {
        try await admin.execute(
            "ALTER DATABASE \(identifier: database.name) CONNECTION LIMIT \(unsafe: String(sessions))")
    }

    private static func refuse(_ admin: Connection, _ database: ScratchDatabase) async throws {
        try await allow(0, to: database, admin)
        try await endSessions(admin)
    }

    /// All but the one that ends them.
    private static func endSessions(_ admin: Connection) async throws {
        _ = try await admin.query(
            """
            SELECT pg_terminate_backend(pid) FROM pg_stat_activity
            WHERE datname = current_database() AND application_name = 'iap-reconcile' AND pid <> pg_backend_pid()
            """)
    }

    @Test func worksAroundATransactionThatSomebodyHoldsOnTo() async throws {
        // A world in which the app's server has admitted a purchase, and could not credit it.
        let undisturbed = try await undisturbedLedger(seed: 4)
        try await withStage(seed: 4) { stage in
            let claimer = try await stage.database.connect()
            defer { claimer.close() }
            try await claimer.execute("BEGIN")
            let claimed = try await claimer.query(
                """
                SELECT iap.claim(bundle_id, transaction_id, coalesce(admitted_user_id, 'someone'), NULL)
                FROM (SELECT * FROM iap.white ORDER BY transaction_id LIMIT 1) AS chosen
                """)
            #expect(!claimed.isEmpty)
            var hurried = stage
            hurried.settings.patience = 0.5
            let first = try await hurried.run()
            guard case .endedEarly(let why) = first.report.outcome else {
                Issue.record("the run did not end early: \(first.report.outcome)")
                return
            }
            #expect(why.contains("locks"))
            #expect(first.report.receipts.verified > 0)
            #expect(first.report.receipts.left > 0)
            try await claimer.execute("ROLLBACK")
            let second = try await stage.run()
            #expect(second.report.outcome == .complete)
            #expect(second.report.receipts.due == first.report.receipts.left)
            expectSame(try await stage.ledger(), undisturbed)
        }
    }
}
