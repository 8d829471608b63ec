import PostgreSQL
import TestSupport
import Testing

/// An order is delivered once, also where one purchase gives it back while another one of the subscription takes it.
@Suite(.timeLimit(.minutes(1))) struct ConcurrentOrdersTests {
    @Test func anOrderThatIsBeingTakenIsNotGivenBack() async throws {
        try await withDeliveredOrder { database, owner in
            let (holder, server) = (
                try await database.connect(as: "iap_app"), try await database.connect(as: "iap_app")
            )
            defer { for session in [holder, server] { session.close() } }
            try await holder.execute("BEGIN")
            #expect(try await outcome("claim('com.example.a', 'S2', 'ann', 'O')", holder) == "delivered")
            async let reopened: Void = Self.reopen(database)
            try await database.waitUntilSomebodyWaitsForALock()
            try await holder.execute("COMMIT")
            try await reopened
            #expect(try await outcome("claim('com.example.a', 'X', 'ann', 'O')", server) == "order_used")
            #expect(try await Self.original(owner) == "S")
        }
    }

    @Test func anOrderThatIsBeingImportedIsNotGivenBack() async throws {
        try await withDeliveredOrder { database, owner in
            try await owner.execute("BEGIN")
            try await Self.importDelivery("S2", of: "S", owner)
            async let reopened: Void = Self.reopen(database)
            try await database.waitUntilSomebodyWaitsForALock()
            try await owner.execute("COMMIT")
            try await reopened
            #expect(try await Self.original(owner) == "S")
        }
    }

    @Test func anOrderThatIsBeingGivenBackIsImported() async throws {
        try await withDeliveredOrder { database, owner in
            let (desk, server) = (
                try await database.connect(as: "iap_support"), try await database.connect(as: "iap_app")
            )
            defer { for session in [desk, server] { session.close() } }
            try await desk.execute("BEGIN")
            try await desk.execute("SELECT iap.reopen('S', 'tom', 'a mistake')")
            async let imported: Void = Self.importDelivery("X", of: "X", database)
            try await database.waitUntilSomebodyWaitsForALock()
            try await desk.execute("COMMIT")
            try await imported
            #expect(try await Self.original(owner) == "X")
            #expect(try await outcome("claim('com.example.a', 'S', 'ann', 'O')", server) == "order_used")
        }
    }

    /// Two periods of a subscription and another purchase are white; the first period was delivered for an order.
    private func withDeliveredOrder(
        _ body: (ScratchDatabase, _ owner: Connection) async throws -> Void
    ) async throws {
        try await withScratchDatabase { database in
            let owner = try await database.connect()
            let server = try await database.connect(as: "iap_app")
            defer { for session in [owner, server] { session.close() } }
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
            try await owner.execute("SET search_path = iap")
            try await body(database, owner)
        }
    }

    private static func importDelivery(_ id: String, of original: String, _ owner: Connection) async throws {
        try await owner.execute(
            """
            SELECT import_deliveries(ARRAY[jsonb_populate_record(
                NULL::verified,
                jsonb_build_object(
                    'transaction_id', \(id), 'bundle_id', 'com.example.a', 'environment', 'Production',
                    'original_transaction_id', \(original), 'product_id', 'pass', 'quantity', 1,
                    'purchased_at', now(), 'is_trial', false, 'source', 'app_server', 'verified_at', now(),
                    'user_id', 'ann', 'order_id', 'O', 'delivered_at', now()))])
            """)
    }

    private static func importDelivery(_ id: String, of original: String, _ database: ScratchDatabase) async throws {
        let owner = try await database.connect()
        defer { owner.close() }
        try await owner.execute("SET search_path = iap")
        try await importDelivery(id, of: original, owner)
    }

    /// The purchase for which the one order was taken.
    private static func original(_ owner: Connection) async throws -> String {
        try #require(
            try await owner.query("SELECT original_transaction_id AS id FROM iap.delivered_orders").first
        ).decode("id")
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
