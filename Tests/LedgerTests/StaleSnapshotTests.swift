import PostgreSQL
import TestSupport
import Testing

/// An app's server, or the support desk, whose transaction has looked before a night opened a case.
@Suite struct StaleSnapshotTests {
    private static let openCase: SQL = """
        INSERT INTO iap.cases (
            transaction_id, bundle_id, environment, likelihood, reasons, action, owner_user_ids, opened_at,
            opened_run_id, assessed_at, assessed_run_id)
        VALUES (
            '1', \(LedgerBench.bundleID), 'Production', 'high', '{never_claimed}', 'deliver', '{ann}', now(), 1, now(), 1)
        """

    @Test(arguments: [
        ("iap_app", "SELECT iap.claim('com.example.a', '1', 'ann')"),
        ("iap_support", "SELECT iap.resolve('1', 'delivered', 'sue', 'by hand')"),
        ("iap_support", "SELECT iap.resolve('1', 'dismissed', 'sue', 'a test')"),
    ])
    func whoCannotSeeACaseIsToldToTryAgain(role: String, decision: String) async throws {
        for level in ["REPEATABLE READ", "SERIALIZABLE"] {
            try await withLedger { ledger in
                try await ledger.execute(
                    "SELECT iap.admit(\(LedgerBench.bundleID), 'Production', '1', '1', 'gems', 1, now(), 'ann')")
                let session = try await ledger.database.connect(as: role)
                defer { session.close() }
                try await session.execute("BEGIN ISOLATION LEVEL \(unsafe: level)")
                _ = try await session.query("SELECT 1")
                try await ledger.execute(Self.openCase)
                let refused = await #expect(throws: PostgreSQLError.self) {
                    _ = try await session.query("\(unsafe: decision)")
                }
                #expect(refused?.sqlState?.rawValue.hasPrefix("40") == true, "\(String(describing: refused))")
                try await session.execute("ROLLBACK")

                try await session.execute("BEGIN ISOLATION LEVEL \(unsafe: level)")
                _ = try await session.query("\(unsafe: decision)")
                try await session.execute("COMMIT")
                #expect(try await ledger.value("(SELECT state FROM iap.cases)") == "closed")
                #expect(try await ledger.violations() == [])
            }
        }
    }

    /// What is looked for leaves nothing behind.
    @Test func whatHasNoCaseGetsNone() async throws {
        try await withLedger { ledger in
            try await ledger.execute(
                "SELECT iap.admit(\(LedgerBench.bundleID), 'Production', '1', '1', 'gems', 1, now(), 'ann')")
            let session = try await ledger.database.connect(as: "iap_app")
            defer { session.close() }
            try await session.execute("BEGIN ISOLATION LEVEL SERIALIZABLE")
            _ = try await session.query("SELECT iap.claim(\(LedgerBench.bundleID), '1', 'ann')")
            try await session.execute("COMMIT")
            let cases: Int64 = try await ledger.value("(SELECT count(*) FROM iap.cases)")
            #expect(cases == 0)
        }
    }
}
