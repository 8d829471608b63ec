import Commands
import Foundation
import Job
import PostgreSQL
import Reconciliation
import TestSupport
import Testing

/// A pool between the job and PostgreSQL: of sessions it is as good as none, of transactions it is refused before a lock
/// of the night is left on somebody else's session.
@Suite struct PoolerTests {
    private static let pgbouncer = "/usr/sbin/pgbouncer"

    @Test(
        .enabled(if: FileManager.default.isExecutableFile(atPath: pgbouncer), "PgBouncer is not installed"),
        arguments: [(mode: "transaction", code: 78 as Int32?), ("session", nil)])
    func aPoolOfTransactionsIsRefusedBeforeAnything(mode: String, code: Int32?) async throws {
        try await withStage(customers: 30) { stage in
            try await withPool(of: mode, before: stage.database) { conninfo in
                var pooled = stage
                pooled.settings.database = conninfo
                let before = try await stage.rows(of: "iap.runs")
                do {
                    _ = try await pooled.run()
                    #expect(code == nil)
                } catch let error as JobError {
                    #expect(error.exitCode.rawValue == code, "\(error)")
                    #expect("\(error)".contains("session pooling"), "\(error)")
                    #expect(try await stage.rows(of: "iap.runs") == before)
                    // No lock of the night's stayed with a session of the pool.
                    _ = try await stage.run()
                }
                let findings = await Doctor(settings: pooled.settings).examine()
                #expect(findings.contains { $0.name == "sessions" && $0.verdict == .wrong } == (code != nil))
            }
        }
    }

    /// Runs PgBouncer on a socket of its own for the body.
    private func withPool(
        of mode: String, before database: ScratchDatabase, _ body: (String) async throws -> Void
    ) async throws {
        var template = Array("/tmp/iap-pool-XXXXXX".utf8CString)
        let made = try #require(mkdtemp(&template))
        let folder = String(cString: made)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        try FileManager.default.setAttributes([.posixPermissions: 0o777], ofItemAtPath: folder)
        let user = try #require(database.conninfo(as: "iap_job").firstMatch(of: #/user=(\S+)/#)?.1)
        let configuration = """
            [databases]
            \(database.name) = host=\(database.cluster.directory) port=\(database.cluster.port) dbname=\(database.name) \
            user=\(user)
            [pgbouncer]
            listen_port = 6432
            unix_socket_dir = \(folder)
            auth_type = any
            pool_mode = \(mode)
            default_pool_size = 8
            ignore_startup_parameters = extra_float_digits,options
            """
        try configuration.write(toFile: "\(folder)/pgbouncer.ini", atomically: true, encoding: .utf8)
        // It refuses to run as root.
        let asUser = getuid() == 0 ? ["-u", "postgres", Self.pgbouncer] : [Self.pgbouncer]
        try await ChildProcess.with(
            getuid() == 0 ? "/usr/sbin/runuser" : "/usr/bin/env", asUser + ["\(folder)/pgbouncer.ini"]
        ) { pool in
            for _ in 0..<500 where !FileManager.default.fileExists(atPath: "\(folder)/.s.PGSQL.6432") {
                try await Task.sleep(for: .milliseconds(10))
            }
            try await body("host=\(folder) port=6432 user=\(user) dbname=\(database.name)")
            pool.send(signal: SIGTERM)
            _ = await pool.waitUntilEnded()
        }
    }
}
