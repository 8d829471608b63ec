import PostgreSQL
import TestSupport
import Testing

/// An order is delivered once, also where one purchase gives it back while another one of the subscription takes it.
@Suite(.timeLimit(.minutes(1))) struct ConcurrentOrdersTests {
    @Test func anOrderThatIsBeingTakenIsNotGivenBack() async throws {
        try await withScratchDatabase { database in
            let (holder, server) = (
                try await database.connect(as: "iap_app"), try await database.connect(as: "iap_app")
            )
            let owner = try await database.connect()
            defer { for session in [holder, server, owner] { session.close() } }
            try await owner.execute(
                """
                INSERT INTO iap.products (bundle_id, product_id, type, name)
                VALUES ('com.example.a', 'pass', 'auto_renewable', 'Pass')
                """)
            try await server.execute(
                """
                SELECT iap.admit('com.example.a', 'Production', id, original, 'pass', 1, now(), 'ann')
                FROM (VALUES ('S', 'S'), ('S2', 'S'), ('X', 'X')) AS bought (id, original)
                """)
            try await owner.execute("SELECT iap.resolve('S', 'delivered', 'sue', 'by hand', order_id => 'O')")
            try await holder.execute("BEGIN")
            #expect(try await outcome("claim('com.example.a', 'S2', 'ann', 'O')", holder) == "delivered")
            async let reopened: Void = Self.reopen(database)
            try await database.waitUntilSomebodyWaitsForALock()
            try await holder.execute("COMMIT")
            try await reopened
            #expect(try await outcome("claim('com.example.a', 'X', 'ann', 'O')", server) == "order_used")
            let taken = try #require(
                try await owner.query("SELECT original_transaction_id AS id FROM iap.delivered_orders").first)
            #expect(try taken.decode("id", as: String.self) == "S")
        }
    }

    private static func reopen(_ database: ScratchDatabase) async throws {
        let desk = try await database.connect(as: "iap_support")
        defer { desk.close() }
        try await desk.execute("SELECT iap.reopen('S', 'tom', 'a mistake')")
    }

    private func outcome(_ call: SQL, _ connection: Connection) async throws -> String {
        try #require(try await connection.query("SELECT iap.\(call) AS outcome").first).decode("outcome")
    }
}
