import PostgreSQL
import TestSupport
import Testing

/// An app's server, or the support desk, whose transaction has looked before others wrote what would tell it otherwise.
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

    /// A period of a subscription that was delivered under another id, of which the session's snapshot knows nothing.
    @Test(arguments: [
        ("iap_app", "SELECT iap.claim('com.example.a', 'B', 'ann')"),
        ("iap_support", "SELECT iap.resolve('B', 'delivered', 'sue', 'by hand')"),
        ("iap_app", "SELECT iap.entitle('com.example.a', 'O', 'ann', now() + interval '60 days')::text"),
    ])
    func aPeriodIsDeliveredOnceAtAnyIsolationLevel(role: String, delivery: String) async throws {
        for level in ["READ COMMITTED", "REPEATABLE READ", "SERIALIZABLE"] {
            try await withLedger { ledger in
                let session = try await ledger.database.connect(as: role)
                defer { session.close() }
                try await ledger.hearPeriod("B", of: "O", "W")
                try await session.execute("BEGIN ISOLATION LEVEL \(unsafe: level)")
                _ = try await session.query("SELECT count(*) FROM pg_class")
                try await ledger.hearPeriod("A", of: "O", "W")
                #expect(try await ledger.value("iap.claim('com.example.a', 'A', 'ann')") == "delivered")

                // At read committed it says so; above that it is told to try again.
                do { _ = try await session.query("\(unsafe: delivery)") } catch {
                    #expect((error as? PostgreSQLError)?.sqlState?.rawValue.hasPrefix("40") == true, "\(error)")
                }
                try await session.execute("COMMIT")
                let delivered: Int64 = try await ledger.value("(SELECT count(*) FROM iap.black)")
                #expect(delivered == 1, "\(level)")
                #expect(try await ledger.violations() == [])
            }
        }
    }

    /// What was granted after the session's snapshot is not there to be taken back: it must not say that nothing was.
    @Test func whoCannotSeeAGrantIsToldToTryAgain() async throws {
        for level in ["REPEATABLE READ", "SERIALIZABLE"] {
            try await withLedger { ledger in
                let session = try await ledger.database.connect(as: "iap_app")
                defer { session.close() }
                try await session.execute("BEGIN ISOLATION LEVEL \(unsafe: level)")
                _ = try await session.query("SELECT count(*) FROM pg_class")
                try await ledger.execute("SELECT iap.entitle('com.example.a', 'O', 'ann', now() + interval '60 days')")
                let revocation: SQL = "SELECT iap.revoke_entitlement('com.example.a', 'O')"
                let refused = await #expect(throws: PostgreSQLError.self) { _ = try await session.query(revocation) }
                #expect(refused?.sqlState?.rawValue.hasPrefix("40") == true, "\(String(describing: refused))")
                try await session.execute("ROLLBACK")
                _ = try await session.query(revocation)
                let isRevoked: Bool = try await ledger.value("(SELECT revoked_at IS NOT NULL FROM iap.entitlements)")
                #expect(isRevoked)
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

extension LedgerBench {
    /// A period of a subscription as Apple names it, in a transaction that is committed at once.
    fileprivate func hearPeriod(_ id: String, of original: String, _ lineItem: String) async throws {
        let connection = try await database.connect()
        defer { connection.close() }
        try await connection.execute("SET search_path = iap")
        try await connection.execute(
            """
            SELECT iap.enter(
                ARRAY[jsonb_populate_record(
                    NULL::verified,
                    jsonb_build_object(
                        'transaction_id', \(id), 'bundle_id', \(Self.bundleID), 'environment', 'Production',
                        'original_transaction_id', \(original), 'product_id', 'pass', 'product_type', 'auto_renewable',
                        'web_order_line_item_id', \(lineItem), 'quantity', 1, 'purchased_at', now() - interval '1 day',
                        'expires_at', now() + interval '29 days', 'is_trial', false, 'source', 'server_api',
                        'verified_at', now(), 'user_id', 'ann'))],
                1, now())
            """)
    }
}
