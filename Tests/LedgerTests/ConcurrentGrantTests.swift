import PostgreSQL
import TestSupport
import Testing

/// A webhook that grants what the client claims at the same time: it is delivered once.
@Suite struct ConcurrentGrantTests {
    private static let admit: SQL = "SELECT iap.admit('com.example.a', 'Production', 'P', 'P', 'full', 1, now(), 'ann')"
    private static let grant: SQL = "SELECT iap.entitle('com.example.a', 'P', 'ann', 'infinity')"

    private func withWebhook(_ body: (ScratchDatabase, _ webhook: Connection) async throws -> Void) async throws {
        try await withScratchDatabase { database in
            let webhook = try await database.connect(as: "iap_app")
            defer { webhook.close() }
            try await body(database, webhook)
        }
    }

    /// As another of the app's servers claims it.
    private func claim(_ database: ScratchDatabase) async throws -> String {
        let client = try await database.connect(as: "iap_app")
        defer { client.close() }
        return try await outcome(client)
    }

    private func outcome(_ client: Connection) async throws -> String {
        try #require(try await client.query("SELECT iap.claim('com.example.a', 'P', 'ann') AS outcome").first)
            .decode("outcome")
    }

    @Test(arguments: [false, true]) func aClaimWaitsForAGrant(isAfterAnother: Bool) async throws {
        try await withWebhook { database, webhook in
            if isAfterAnother {
                try await webhook.execute("SELECT iap.entitle('com.example.a', 'P', 'ann', now() - interval '1 day')")
            }
            try await webhook.execute("BEGIN")
            try await webhook.execute(Self.grant)
            // After the grant, which so has found nothing to deliver.
            let server = try await database.connect(as: "iap_app")
            defer { server.close() }
            try await server.execute(Self.admit)
            async let claimed = claim(database)
            try await database.waitUntilSomebodyWaitsForALock()
            try await webhook.execute("COMMIT")
            #expect(try await claimed == "already_delivered")
        }
    }

    @Test func aGrantThatIsRolledBackWasNone() async throws {
        try await withWebhook { database, webhook in
            try await webhook.execute(Self.admit)
            try await webhook.execute("BEGIN")
            try await webhook.execute(Self.grant)
            async let claimed = claim(database)
            try await database.waitUntilSomebodyWaitsForALock()
            try await webhook.execute("ROLLBACK")
            #expect(try await claimed == "delivered")
        }
    }

    /// Granted after the snapshot, and before it was admitted: nothing but the grant tells of it.
    @Test(arguments: ["REPEATABLE READ", "SERIALIZABLE"])
    func whoCannotSeeAGrantIsToldToTryAgain(level: String) async throws {
        try await withWebhook { database, webhook in
            let client = try await database.connect(as: "iap_app")
            defer { client.close() }
            try await client.execute("BEGIN ISOLATION LEVEL \(unsafe: level)")
            try await client.execute("SELECT 1")
            try await webhook.execute(Self.grant)
            let refused = await #expect(throws: PostgreSQLError.self) {
                try await client.execute(Self.admit)
                _ = try await outcome(client)
            }
            #expect(refused?.sqlState?.rawValue.hasPrefix("40") == true, "\(String(describing: refused))")
            try await client.execute("ROLLBACK")
            try await client.execute(Self.admit)
            #expect(try await outcome(client) == "already_delivered")
        }
    }

    /// What is written to meet a grant is gone with the claim.
    @Test func whereNothingIsGrantedNothingIsLeft() async throws {
        try await withLedger { ledger in
            try await ledger.execute(
                "SELECT iap.admit(\(LedgerBench.bundleID), 'Production', '1', '1', 'full', 1, now(), 'ann')")
            let client = try await ledger.database.connect(as: "iap_app")
            defer { client.close() }
            try await client.execute("SELECT iap.claim(\(LedgerBench.bundleID), '1', 'ann')")
            let left: Int64 = try await ledger.value("(SELECT count(*) FROM iap.entitlements)")
            #expect(left == 0)
            #expect(try await ledger.violations() == [])
        }
    }
}
