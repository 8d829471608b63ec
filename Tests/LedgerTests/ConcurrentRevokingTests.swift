import PostgreSQL
import TestSupport
import Testing

/// Access that is taken back while the night writes that it was granted: nothing stays delivered without it.
@Suite struct ConcurrentRevokingTests {
    @Test func whatTheNightIsWritingIsFound() async throws {
        try await withScratchDatabase { database in
            let server = try await database.connect(as: "iap_app")
            defer { server.close() }
            try await server.execute(
                """
                SELECT
                    iap.entitle('com.example.a', 'S', 'ann', now() + interval '30 days'),
                    iap.admit('com.example.a', 'Production', 'S', 'S', 'gems', 1, now(), 'ann')
                """)
            let job = try await database.connect(as: "iap_job")
            defer { job.close() }
            try await job.execute("SET search_path = iap")
            try await job.execute("BEGIN")
            #expect(try await number("cover_entitled(1, now(), 100)", job) == 1)
            async let revoked: Void = revoke(database)
            try await database.waitUntilSomebodyWaitsForALock()
            try await job.execute("COMMIT")
            try await revoked
            #expect(try await number("(SELECT count(*) FROM white)", job) == 1)
            #expect(try await number("uncover(2, now(), 100)", job) == 0)
        }
    }

    /// What is being revoked is left to the next time.
    @Test func theNightPassesOverWhatIsBeingRevoked() async throws {
        try await withScratchDatabase { database in
            let server = try await database.connect(as: "iap_app")
            defer { server.close() }
            try await server.execute(
                """
                SELECT
                    iap.entitle('com.example.a', 'S', 'ann', now() + interval '30 days'),
                    iap.admit('com.example.a', 'Production', 'S', 'S', 'gems', 1, now(), 'ann')
                """)
            try await server.execute("BEGIN")
            try await server.execute("SELECT iap.revoke_entitlement('com.example.a', 'S')")
            let job = try await database.connect(as: "iap_job")
            defer { job.close() }
            try await job.execute("SET search_path = iap")
            #expect(try await number("cover_entitled(1, now(), 100)", job) == 0)
            try await server.execute("COMMIT")
            #expect(try await number("cover_entitled(1, now(), 100)", job) == 0)
            #expect(try await number("(SELECT count(*) FROM white)", job) == 1)
        }
    }

    private func revoke(_ database: ScratchDatabase) async throws {
        let server = try await database.connect(as: "iap_app")
        defer { server.close() }
        try await server.execute("SELECT iap.revoke_entitlement('com.example.a', 'S')")
    }

    private func number(_ sql: SQL, _ connection: Connection) async throws -> Int64 {
        try #require(try await connection.query("SELECT \(sql) AS number").first).decode("number")
    }
}
