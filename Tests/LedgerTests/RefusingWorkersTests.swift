import PostgreSQL
import Testing

@testable import Ledger

/// Citus tells of a worker that is away and of one that refuses a login by the same state.
@Suite struct RefusingWorkersTests {
    @Test(arguments: [
        "fe_sendauth: no password supplied",
        #"FATAL:  password authentication failed for user "iap_job""#,
        #"FATAL:  pg_hba.conf rejects connection for host "10.0.0.1", user "iap_job", database "shop", no encryption"#,
        #"FATAL:  no pg_hba.conf entry for host "10.0.0.1", user "iap_job", database "shop", SSL encryption"#,
        #"FATAL:  role "iap_job" is not permitted to log in"#,
        #"FATAL:  permission denied for database "shop""#,
    ])
    func aRefusalIsToldFromALoss(_ reason: String) async throws {
        guard case .refusedByWorker(let text)? = try await error(saying: reason) else {
            Issue.record("it counts as something else: \(reason)")
            return
        }
        #expect(text.contains("iap_job@db2:5432") && text.contains(reason))
    }

    @Test(arguments: [
        "Connection refused", "FATAL:  the database system is starting up", "timeout expired",
        #"FATAL:  too many connections for role "iap_job""#,
    ])
    func whatPassesIsALoss(_ reason: String) async throws {
        guard case .connectionLost? = try await error(saying: reason) else {
            Issue.record("it counts as something else: \(reason)")
            return
        }
    }

    @Test func whereAStatementFailedIsTold() {
        let context = "while executing command on db2:5432\nSQL statement \"SELECT 1 FROM iap.receipts\""
        #expect(LedgerError.worker(of: context) == "db2:5432")
        #expect(LedgerError.worker(of: "PL/pgSQL function receipts_of(text,text) line 10\n\(context)") == "db2:5432")
        #expect(LedgerError.worker(of: "SQL statement \"SELECT 1 FROM iap.receipts\"") == nil)
        #expect(LedgerError.worker(of: nil) == nil)
    }

    /// What the coordinator says of a worker.
    private func error(saying reason: String) async throws -> LedgerError? {
        try await withLedger { ledger in
            let session = try await ledger.session()
            defer { session.close() }
            let text = "connection to the remote node iap_job@db2:5432 failed with the following error: \(reason)"
            return await #expect(throws: LedgerError.self) {
                try await translating {
                    try await session.connection.executeScript(
                        unsafe: "DO $do$ BEGIN RAISE SQLSTATE '08006' USING MESSAGE = $text$\(text)$text$; END $do$")
                }
            }
        }
    }
}
