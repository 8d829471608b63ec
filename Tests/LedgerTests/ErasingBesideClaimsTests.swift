import PostgreSQL
import TestSupport
import Testing

/// A person is erased while their purchases are claimed: the whole of each purchase is theirs, or nobody's.
@Suite(.timeLimit(.minutes(1))) struct ErasingBesideClaimsTests {
    @Test func aClaimThatCommitsInTheMiddleIsErasedWithAllThatItWrote() async throws {
        try await withScratchDatabase { database in
            let (holder, server) = (
                try await database.connect(as: "iap_app"), try await database.connect(as: "iap_app")
            )
            let watcher = try await database.connect()
            defer { for session in [holder, server, watcher] { session.close() } }
            try await server.execute(
                """
                SELECT iap.admit('com.example.a', 'Production', '1', '1', 'gems', 1, now(), NULL),
                    iap.admit('com.example.a', 'Production', '2', '2', 'gems', 1, now(), 'zoe')
                """)
            try await holder.execute("BEGIN")
            try await holder.execute("SELECT iap.claim('com.example.a', '2', 'zoe')")
            async let erased: Void = Self.erase(database)
            try await database.waitUntilSomebodyWaitsForALock()
            // The ledger was read before this one came, and the tables that come after it are not.
            try await server.execute("SELECT iap.claim('com.example.a', '1', 'zoe')")
            try await holder.execute("COMMIT")
            try await erased
            let rows = try await watcher.query(
                """
                SELECT
                    (SELECT count(*) FROM iap.black WHERE user_id = 'zoe') AS black,
                    (SELECT count(*) FROM iap.claims WHERE user_id = 'zoe') AS claims,
                    (SELECT count(*) FROM iap.moves WHERE details ->> 'user_id' = 'zoe') AS moves,
                    (SELECT count(DISTINCT user_id) FROM iap.black) AS pseudonyms
                """)
            let left = try #require(rows.first)
            #expect(try left.decode("black", as: Int.self) == 0)
            #expect(try left.decode("claims", as: Int.self) == 0)
            #expect(try left.decode("moves", as: Int.self) == 0)
            #expect(try left.decode("pseudonyms", as: Int.self) == 1)
        }
    }

    @Test func aClaimThatHasYetToCommitIsWaitedFor() async throws {
        try await withScratchDatabase { database in
            let (server, other) = (
                try await database.connect(as: "iap_app"), try await database.connect(as: "iap_app")
            )
            let watcher = try await database.connect()
            defer { for session in [server, other, watcher] { session.close() } }
            try await server.execute(
                """
                SELECT iap.admit('com.example.a', 'Production', '1', '1', 'gems', 1, now(), NULL),
                    iap.admit('com.example.a', 'Production', '2', '2', 'gems', 1, now(), NULL)
                """)
            try await server.execute("BEGIN")
            // Nothing but the claim says that it is theirs: no row that an erasure locks.
            try await server.execute("SELECT iap.claim('com.example.a', '1', 'zoe')")
            async let erased: Void = Self.erase(database)
            try await database.waitUntilSleeping()
            // Nobody else waits for the erasure.
            try await other.execute("SELECT iap.claim('com.example.a', '2', 'ann')")
            try await server.execute("COMMIT")
            try await erased
            let rows = try await watcher.query(
                """
                SELECT user_id FROM iap.black
                UNION ALL SELECT user_id FROM iap.claims
                UNION ALL SELECT details ->> 'user_id' FROM iap.moves
                """)
            let users = try rows.map { try $0.decode("user_id", as: String.self) }
            #expect(users.count == 6)
            #expect(!users.contains("zoe"))
            #expect(Set(users).count == 2)
        }
    }

    private static func erase(_ database: ScratchDatabase) async throws {
        let privacy = try await database.connect(as: "iap_privacy")
        defer { privacy.close() }
        try await privacy.execute("SELECT iap.erase_user('zoe', 'pat', true)")
    }
}
