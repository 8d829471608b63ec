import AppStoreSimulator
import Foundation
import PostgreSQL
import TestSupport
import Testing

/// Runs of the program that are killed or stopped in the middle.
@Suite struct KilledRunTests {
    @Test func aKilledRunLeavesWhatTheNextOneFinishes() async throws {
        let undisturbed = try await withProgramNight { night in
            try await ChildProcess.runSuccessfully(ProgramNight.program, night.run)
            return try await night.ledger()
        }
        #expect(undisturbed.count > 300)
        let latency = try Latency(median: 0.02, percentile99: 0.05)
        try await withProgramNight(latency: latency) { night in
            // Killed after ever more receipts were recorded, then left to finish.
            try await lingerBeforeTheEnd(night)
            for recorded in [1, 40, 120] {
                try await killed(night, afterReceipts: recorded)
            }
            try await endAsEver(night)
            let last = try await ChildProcess.run(ProgramNight.program, night.run)
            #expect(last.status == 0)
            #expect(last.errors.contains("was killed before it ended"))
            let ledger = try await night.ledger()
            #expect(Set(ledger).symmetricDifference(undisturbed) == [])
            let states = try await runStates(night)
            #expect(states == ["abandoned", "abandoned", "abandoned", "complete"])
        }
    }

    /// Two at once are one request: timeout(1) sends two, and so do a closed terminal and its shell.
    @Test(
        arguments: [
            ([SIGTERM], ["SIGTERM"]), ([SIGINT], ["SIGINT"]), ([SIGHUP], ["SIGHUP"]),
            ([SIGTERM, SIGINT], ["SIGTERM", "SIGINT"]),
        ])
    func aSignalEndsARunInGoodOrder(signals: [Int32], names: [String]) async throws {
        try await withProgramNight { night in
            let ended = try await ended(night, ProgramNight.program, night.run, after: signals)
            #expect(ended.status == 75)
            #expect(names.contains { ended.output.contains($0) })
            #expect(FileManager.default.fileExists(atPath: night.reports + "/latest/index.html"))
            let states = try await runStates(night)
            #expect(states == ["ended_early"])
        }
    }

    @Test func aRunThatIgnoresHangUpsGoesOn() async throws {
        try await withProgramNight(customers: 60) { night in
            let ended = try await ended(
                night, "/usr/bin/env", ["--ignore-signal=HUP", ProgramNight.program] + night.run, after: [SIGHUP])
            #expect(ended.status == 0)
        }
    }

    /// How a run ends that gets signals while it verifies: its first batches are recorded, and the next when the signals
    /// are sent, so that none ends before a busy machine gets round to that.
    private func ended(
        _ night: ProgramNight, _ program: String, _ arguments: [String], after signals: [Int32]
    ) async throws -> ChildProcess.Ended {
        let connection = try await night.database.connect()
        defer { connection.close() }
        try await connection.execute("CREATE TABLE signalled (at timestamptz)")
        try await connection.execute("GRANT SELECT ON signalled TO PUBLIC")
        try await connection.execute(
            """
            CREATE FUNCTION hold() RETURNS trigger LANGUAGE plpgsql AS $$
            BEGIN
                WHILE NOT EXISTS (SELECT FROM public.signalled)
                    AND EXISTS (SELECT FROM iap.receipts WHERE last_attempt_at IS NOT NULL)
                LOOP
                    PERFORM pg_sleep(0.02);
                END LOOP;
                RETURN NULL;
            END
            $$
            """)
        try await connection.execute(
            "CREATE TRIGGER hold BEFORE UPDATE ON iap.receipts FOR EACH STATEMENT EXECUTE FUNCTION hold()")
        return try await ChildProcess.with(program, arguments) { child in
            try await waitForReceipts(1, night, child)
            for signal in signals { child.send(signal: signal) }
            try await connection.execute("INSERT INTO signalled VALUES (now())")
            return await child.waitUntilEnded()
        }
    }

    private func killed(_ night: ProgramNight, afterReceipts count: Int) async throws {
        let runs = try await runStates(night).count
        _ = try await ChildProcess.with(ProgramNight.program, night.run) { child in
            try await waitForReceipts(count, night, child, after: runs)
            child.send(signal: SIGKILL)
            return await child.waitUntilEnded()
        }
        try await waitUntilPostgreSQLNoticed(night)
    }

    /// Lets each run wait before its books are closed, so that none ends before a busy machine gets round to killing it.
    private func lingerBeforeTheEnd(_ night: ProgramNight) async throws {
        let connection = try await night.database.connect()
        defer { connection.close() }
        try await connection.execute(
            """
            CREATE FUNCTION linger() RETURNS trigger LANGUAGE plpgsql AS $$
            BEGIN
                PERFORM pg_sleep(60);
                RETURN NULL;
            END
            $$
            """)
        try await connection.execute(
            "CREATE TRIGGER linger BEFORE INSERT ON iap.books FOR EACH STATEMENT EXECUTE FUNCTION linger()")
    }

    private func endAsEver(_ night: ProgramNight) async throws {
        let connection = try await night.database.connect()
        defer { connection.close() }
        try await connection.execute("DROP FUNCTION linger() CASCADE")
    }

    /// PostgreSQL frees a dead run's locks when it reads from the connection that was cut.
    private func waitUntilPostgreSQLNoticed(_ night: ProgramNight) async throws {
        let connection = try await night.database.connect()
        defer { connection.close() }
        let others: SQL = """
            SELECT
            FROM pg_stat_activity
            WHERE datname = current_database() AND pid <> pg_backend_pid() AND backend_type = 'client backend'
            """
        try await waitUntil("no other session is left") { try await connection.query(others).isEmpty }
    }

    /// Waits until so many receipts are recorded, and one more run than so many is under way: that of a killed one counts
    /// as running until the next begins.
    private func waitForReceipts(
        _ count: Int, _ night: ProgramNight, _ child: ChildProcess, after runs: Int = 0
    ) async throws {
        let connection = try await night.database.connect()
        defer { connection.close() }
        while child.isRunning {
            let rows = try await connection.query(
                """
                SELECT count(*) AS recorded
                FROM iap.receipts
                WHERE last_attempt_at IS NOT NULL
                    AND EXISTS (SELECT FROM iap.runs WHERE state = 'running')
                    AND (SELECT count(*) FROM iap.runs) > \(runs)
                """)
            if try rows.first?.decode("recorded", as: Int.self) ?? 0 >= count { return }
            try await Task.sleep(for: .milliseconds(5))
        }
        Issue.record("the run ended before it recorded \(count) receipts: \(child.errorsSoFar)")
    }

    private func runStates(_ night: ProgramNight) async throws -> [String] {
        let connection = try await night.database.connect()
        defer { connection.close() }
        return try await connection.query("SELECT state FROM iap.runs ORDER BY run_id")
            .map { try $0.decode("state", as: String.self) }
    }
}
