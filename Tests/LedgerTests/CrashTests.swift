import PostgreSQL
import TestSupport
import Testing

@testable import Ledger

/// What is acknowledged outlives a crash, also of a server that is told to acknowledge commits before they are on disk.
@Suite struct CrashTests {
    @Test func whatTheAppsServerWasToldIsKept() async throws {
        try await withForgetfulServer { cluster in
            let app = try await Connection.connect(ConnectionSettings(cluster.superuserConninfo()))
            defer { app.close() }
            _ = try await app.query(
                "SELECT iap.admit('com.example.a', 'Production', '1', '1', 'gems', 1, now(), 'ann')")
            let claimed = try await app.only("SELECT iap.claim('com.example.a', '1', 'ann') AS outcome")
            #expect(try claimed.decode("outcome", as: String.self) == "delivered")
            try await cluster.stop(immediate: true)
            try await cluster.start()
            try await app.reconnect()
            #expect(try await app.query("SELECT FROM iap.black WHERE transaction_id = '1'").count == 1)
        }
    }

    @Test(arguments: [false, true])
    func whatTheJobTookIsKept(isReconnected: Bool) async throws {
        try await withForgetfulServer { cluster in
            let session = try await LedgerSession.connect(LedgerSettings(database: cluster.superuserConninfo()))
            defer { session.close() }
            if isReconnected {
                try await cluster.restart()
                try await session.reconnect()
            }
            try await session.connection.execute(
                "INSERT INTO iap.account_tokens (bundle_id, app_account_token, user_id) VALUES ('a', 't', 'ann')")
            try await cluster.stop(immediate: true)
            try await cluster.start()
            try await session.reconnect()
            #expect(try await session.connection.query("SELECT FROM iap.account_tokens").count == 1)
        }
    }

    private func withForgetfulServer(_ body: (ScratchCluster) async throws -> Void) async throws {
        let cluster = try await ScratchCluster.dedicated(
            settings: ["synchronous_commit": "off", "wal_writer_delay": "10s", "wal_writer_flush_after": "1GB"])
        let session = try await LedgerSession.connect(LedgerSettings(database: cluster.superuserConninfo()))
        defer { session.close() }
        _ = try await session.migrate()
        try await body(cluster)
    }
}
