import Foundation
import PostgreSQL
import TestSupport
import Testing

/// The tests' own ground: were it to leave servers behind, nobody would notice for long.
@Suite(.timeLimit(.minutes(1))) struct ScratchClusterTests {
    @Test func aClusterCanBeStoppedAndStartedAgain() async throws {
        let cluster = try await ScratchCluster.dedicated()
        let connection = try await Connection.connect(ConnectionSettings(cluster.superuserConninfo()))
        try await connection.execute("CREATE TABLE t AS SELECT 1 AS a")
        try await cluster.stop(immediate: true)
        let error = await #expect(throws: PostgreSQLError.self) { try await connection.query("SELECT 1") }
        #expect(error?.isConnectionLost == true)
        let refused = await #expect(throws: PostgreSQLError.self) { try await connection.reconnect() }
        #expect(refused?.code == .connection)
        try await cluster.start()
        try await connection.reconnect()
        #expect(try await connection.query("SELECT a FROM t").count == 1)
    }

    @Test func aClusterWithoutAnOwnerGoesAway() async throws {
        let directory = try await ScratchCluster.dedicated().directory
        try await expectGone(directory)
    }

    @Test func aKilledProcessLeavesNothingBehind() async throws {
        try await withTemporaryFile("") { note in
            await #expect(processExitsWith: .signal(SIGKILL)) { [note = note as String] in
                let cluster = try await ScratchCluster.shared()
                try Data(cluster.directory.utf8).write(to: URL(filePath: note))
                kill(getpid(), SIGKILL)
                try await Task.sleep(for: .seconds(60))
            }
            try await expectGone(String(contentsOfFile: note, encoding: .utf8))
        }
    }

    private func expectGone(_ directory: String) async throws {
        #expect(directory.contains("/iap-scratch-"))
        try await waitUntil("\(directory) is gone") { !FileManager.default.fileExists(atPath: directory) }
        let processes = try await ChildProcess.run("/usr/bin/pgrep", ["-f", "postgres -D \(directory)"])
        #expect(processes.output == "")
    }

    @Test func aDatabaseHoldsTheSchemaAndIsDropped() async throws {
        let name = try await withScratchDatabase { database in
            let rows = try await database.connect().query("SELECT to_regclass('iap.receipts')::text AS name")
            #expect(try rows[0]("name", as: String.self) == "iap.receipts")
            return database.name
        }
        let rows = try await withConnection { try await $0.query("SELECT 1 FROM pg_database WHERE datname = \(name)") }
        #expect(rows.isEmpty)
    }

    @Test func aChildDoesNotOutliveItsTest() async throws {
        struct Failed: Error {}
        var identifier: Int32 = 0
        await #expect(throws: Failed.self) {
            try await ChildProcess.with("/bin/sh", ["-c", "echo ready; sleep 300"]) { child in
                identifier = child.processIdentifier
                try await child.waitFor("ready")
                throw Failed()
            }
        }
        #expect(kill(identifier, 0) == -1)
    }

    @Test func aChildTakesInputAndGivesOutput() async throws {
        let ended = try await ChildProcess.run(
            "/bin/sh", ["-c", "pwd; cat; echo $WORD >&2; exit 3"], environment: ["WORD": "w"], directory: "/",
            input: "in\n")
        #expect(ended.status == 3)
        #expect(ended.output == "/\nin\n")
        #expect(ended.errors == "w\n")
    }
}
