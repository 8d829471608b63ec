import Foundation
import PostgreSQL
import TestSupport
import Testing

@testable import AppStoreSimulator
@testable import SimulatedWorld

@Suite struct PopulateTests {
    private func world() throws -> World {
        World(try WorldSettings(seed: 7, customers: 400, days: 5, now: testNow))
    }

    private func count(_ sql: SQL, _ connection: Connection) async throws -> Int {
        let row = try #require(try await connection.query(sql).first)
        return try row.decode("n")
    }

    private func play(_ world: World, _ database: ScratchDatabase) async throws {
        try await WorldStage.open(world, on: database.conninfo) { try await $0.play() }
    }

    @Test func leavesWhatTheTruthTells() async throws {
        let world = try world()
        let truth = world.truth()
        try await withScratchDatabase { database async throws -> Void in
            try await play(world, database)
            let connection = try await database.connect()
            defer { connection.close() }
            let uploads = world.events.uploads
            let payloads = world.payloads(of: uploads.map(\.content))
            let receipts = Set(uploads.map { [$0.bundleID, $0.userID, payloads[$0.content]] })
            #expect(try await count("SELECT count(*) AS n FROM iap.receipts", connection) == receipts.count)
            // What a company keeps in tables of its own, and what was granted, the ledger has from the night on.
            let told = world.events.claims.filter { !WorldApp.withOwnTables.contains($0.bundleID) }
            let delivered = Set(told.filter { $0.kind == .delivered }.map(\.transaction.id))
            #expect(try await count("SELECT count(*) AS n FROM iap.black", connection) == delivered.count)
            let admitted = Set(told.map(\.transaction.id))
            let rolledBack = admitted.subtracting(delivered).count
            #expect(rolledBack > 0)
            #expect(try await count("SELECT count(*) AS n FROM iap.white", connection) == rolledBack)
            let lost = truth.lost.map(\.transactionID)
            let wrong: SQL = "SELECT count(*) AS n FROM iap.black WHERE transaction_id = ANY(\(lost))"
            #expect(try await count(wrong, connection) == 0)
            #expect(try await count("SELECT max(times)::bigint AS n FROM iap.uploads", connection) == 20)
            #expect(try await count("SELECT count(*) AS n FROM iap.products", connection) == 18)
        }
    }

    @Test func movesEverythingToItsTime() async throws {
        let world = try world()
        try await withScratchDatabase { database async throws -> Void in
            try await play(world, database)
            let connection = try await database.connect()
            defer { connection.close() }
            let late: SQL = """
                SELECT
                    (SELECT count(*) FROM iap.receipts
                     WHERE greatest(submitted_at, next_attempt_at) > \(testNow))
                    + (SELECT count(*) FROM iap.uploads WHERE last_uploaded_at > \(testNow))
                    + (SELECT count(*) FROM iap.claims WHERE attempted_at > \(testNow))
                    + (SELECT count(*) FROM iap.black WHERE delivered_at < purchased_at OR delivered_at > \(testNow))
                    + (SELECT count(*) FROM iap.white WHERE first_seen_at > \(testNow)) AS n
                """
            #expect(try await count(late, connection) == 0)
        }
    }

    @Test func refusesToPlayTheSameWorldTwice() async throws {
        let world = try world()
        try await withScratchDatabase { database async throws -> Void in
            try await play(world, database)
            await #expect(throws: SimulatorError.self) { try await play(world, database) }
        }
    }

    @Test func fillsTheInboxWithReceiptsThatAStoreAnswersFor() async throws {
        let fill = try InboxFill(seed: 7, receipts: 50, transactions: 10, now: testNow)
        var payloads: [String] = []
        try await withScratchDatabase { database async throws -> Void in
            #expect(try await fill.fill(database.conninfo) == 50)
            let connection = try await database.connect()
            defer { connection.close() }
            let due: SQL = "SELECT payload FROM iap.receipts WHERE next_attempt_at < \(testNow)"
            payloads = try await connection.query(due).map { try $0("payload") }
        }
        #expect(payloads.count == 50)
        let payload = try #require(payloads.first)
        let answer = try await withStore(SimulatedAppStore(seed: 7)) {
            try await Client.verify(payload, at: $0.productionVerifyReceipt)
        }
        #expect(answer.inApp.count == 10)
        // Other programs take deliveries for granted by these numbers.
        #expect(answer.inApp.allSatisfy { ($0["transaction_id"] as? String)?.hasPrefix("8000000000000") == true })
    }
}
