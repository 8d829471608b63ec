import PostgreSQL
import TestSupport
import Testing

/// Many of an app's servers at once, over connections of their own.
@Suite struct ConcurrentClaimsTests {
    private static let servers = 64

    private func admit(_ purchases: Int, original: String? = nil, _ database: ScratchDatabase) async throws {
        let connection = try await database.connect()
        defer { connection.close() }
        let ids = (1...purchases).map(String.init)
        try await connection.execute(
            """
            INSERT INTO iap.products (bundle_id, product_id, type, name)
            VALUES ('com.example.a', 'gems', 'consumable', 'Gems'), ('com.example.a', 'full', 'non_consumable', 'Full')
            """)
        try await connection.execute(
            """
            SELECT iap.admit(
                'com.example.a', 'Production', id, coalesce(\(original as String?), id),
                CASE WHEN \(original as String?) IS NULL THEN 'gems' ELSE 'full' END, 1, now(), 'ann')
            FROM unnest(\(ids)) AS ids (id)
            """)
    }

    /// Each server claims every purchase, in an order of its own. Gives how often each outcome was met.
    private func claimFromEverywhere(_ purchases: Int, _ database: ScratchDatabase) async throws -> [String: Int] {
        let conninfo = database.conninfo(as: "iap_app")
        return try await withThrowingTaskGroup { group in
            for server in 0..<Self.servers {
                group.addTask {
                    let connection = try await Connection.connect(ConnectionSettings(conninfo))
                    defer { connection.close() }
                    return try await Self.claimAll(purchases, connection, from: server)
                }
            }
            return try await group.reduce(into: [:]) { $0.merge($1, uniquingKeysWith: +) }
        }
    }

    private static func claimAll(
        _ purchases: Int, _ connection: Connection, from server: Int
    ) async throws -> [String: Int] {
        var outcomes: [String: Int] = [:]
        for step in 0..<purchases {
            let id = String((step * 7 + server * 3) % purchases + 1)
            let rows = try await connection.query("SELECT iap.claim('com.example.a', \(id), 'ann') AS outcome")
            let row = try #require(rows.first)
            outcomes[try row.decode("outcome"), default: 0] += 1
        }
        return outcomes
    }

    private func count(_ sql: SQL, _ database: ScratchDatabase) async throws -> Int {
        let connection = try await database.connect()
        defer { connection.close() }
        let row = try #require(try await connection.query(sql).first)
        return try row.decode("n")
    }

    /// One period of a subscription under two ids, of which another session is delivering the first.
    @Test func aPeriodIsDeliveredOnceUnderWhateverID() async throws {
        try await withScratchDatabase { database in
            try await admit(2, original: "S", database)
            let (owner, holder) = (try await database.connect(), try await database.connect(as: "iap_app"))
            defer { for session in [owner, holder] { session.close() } }
            try await owner.execute("UPDATE iap.products SET type = 'auto_renewable'")
            try await owner.execute(
                "UPDATE iap.transactions SET product_type = 'auto_renewable', web_order_line_item_id = '7'")
            try await holder.execute("BEGIN")
            #expect(try await Self.claimAll(1, holder, from: 0) == ["delivered": 1])
            async let outcome = Self.claim("2", database)
            try await database.waitUntilSomebodyWaitsForALock()
            try await holder.execute("COMMIT")
            #expect(try await outcome == "already_delivered")
        }
    }

    private static func claim(_ id: String, _ database: ScratchDatabase) async throws -> String {
        let server = try await database.connect(as: "iap_app")
        defer { server.close() }
        let row = try #require(
            try await server.query("SELECT iap.claim('com.example.a', \(id), 'ann') AS outcome").first)
        return try row.decode("outcome")
    }

    @Test func eachPurchaseIsDeliveredOnce() async throws {
        try await withScratchDatabase { database in
            let purchases = 200
            try await admit(purchases, database)
            let outcomes = try await claimFromEverywhere(purchases, database)
            let attempts = Self.servers * purchases
            #expect(outcomes == ["delivered": purchases, "already_delivered": attempts - purchases])
            #expect(try await count("SELECT count(*) AS n FROM iap.black", database) == purchases)
            #expect(try await count("SELECT count(*) AS n FROM iap.white", database) == 0)
            #expect(try await count("SELECT count(*) AS n FROM iap.claims", database) == attempts)
            #expect(try await count("SELECT count(*) AS n FROM iap.moves", database) == purchases)
        }
    }

    @Test func aRestoredPurchaseIsDeliveredOnceUnderAllItsIDs() async throws {
        try await withScratchDatabase { database in
            try await admit(20, original: "1", database)
            let outcomes = try await claimFromEverywhere(20, database)
            #expect(outcomes["delivered"] == 1)
            #expect(outcomes.keys.sorted() == ["already_delivered", "delivered"])
            #expect(try await count("SELECT count(*) AS n FROM iap.white", database) == 0)
        }
    }

    @Test func theSameReceiptFromEverywhereIsOne() async throws {
        try await withScratchDatabase { database in
            let conninfo = database.conninfo(as: "iap_app")
            let ids = try await withThrowingTaskGroup { group in
                for _ in 0..<Self.servers {
                    group.addTask {
                        let connection = try await Connection.connect(ConnectionSettings(conninfo))
                        defer { connection.close() }
                        let rows = try await connection.query(
                            "SELECT iap.submit_receipt('com.example.a', 'ann', 'payload') AS receipt_id")
                        let row = try #require(rows.first)
                        return try row.decode("receipt_id", as: Int64.self)
                    }
                }
                return try await group.reduce(into: Set<Int64>()) { $0.insert($1) }
            }
            #expect(ids.count == 1)
            #expect(try await count("SELECT sum(times) AS n FROM iap.uploads", database) == Self.servers)
        }
    }
}
