import Job
import Verification
import AppStoreSimulator
import Foundation
import PostgreSQL
import Reconciliation
import TestSupport
import Testing

/// Many of an app's servers claim at once, while the job works.
@Suite struct ClaimStormTests {
    private static let servers = 64
    private static let purchases = 400

    @Test func eachPurchaseIsDeliveredOnceWhileNightsRecordAndSweep() async throws {
        try await withPlay(.verifyReceipt) { play in
            var smallBatches = play
            smallBatches.settings.batchSize = 10
            let play = smallBatches
            let bought = (0..<Self.purchases).map { play.buy(String(1_000_000_000_000_000 + $0)) }
            for begin in stride(from: 0, to: bought.count, by: 10) {
                try await play.upload(play.receipt(Array(bought[begin..<(begin + 10)])))
            }
            // Most claims come before the purchase is verified, and try again.
            let ids = bought.map(\.id)
            async let first = play.night(1)
            async let outcomes = claimFromEverywhere(ids, play.database)
            _ = try await first
            _ = try await play.night(2)
            #expect(try await outcomes["delivered"] == Self.purchases)
            #expect(try await play.count("iap.white") == 0)
            #expect(try await play.count("iap.black") == Self.purchases)
            #expect(try await play.count("iap.claims WHERE outcome = 'delivered'") == Self.purchases)
            #expect(try await play.night(3).findings.cases.isEmpty)
        }
    }

    /// Gives how often each outcome was met.
    private func claimFromEverywhere(
        _ ids: [String], _ database: ScratchDatabase
    ) async throws -> [String: Int] {
        let conninfo = database.conninfo(as: "iap_app")
        return try await withThrowingTaskGroup(of: [String: Int].self) { group in
            for server in 0..<Self.servers {
                group.addTask {
                    let connection = try await Connection.connect(ConnectionSettings(conninfo))
                    defer { connection.close() }
                    return try await Self.claimAll(ids, connection, from: server)
                }
            }
            return try await group.reduce(into: [:]) { $0.merge($1, uniquingKeysWith: +) }
        }
    }

    /// Each server begins elsewhere, and comes back to what was not verified yet.
    private static func claimAll(
        _ ids: [String], _ connection: Connection, from server: Int
    ) async throws -> [String: Int] {
        var outcomes: [String: Int] = [:]
        var waiting = Array(ids[(server * ids.count / servers)...] + ids[..<(server * ids.count / servers)])
        while !waiting.isEmpty {
            // A statement for a page of claims: what one of them locks, the others of the page wait for in this order.
            let page = Array(waiting.prefix(50)).sorted()
            let earlier = outcomes["not_verified"]
            let rows = try await connection.query(
                """
                SELECT id, iap.claim('com.example.game', id, 'anna') AS outcome
                FROM unnest(\(page)) AS claimed (id)
                """)
            waiting.removeFirst(page.count)
            for row in rows {
                let outcome = try row.decode("outcome", as: String.self)
                outcomes[outcome, default: 0] += 1
                if outcome == "not_verified" { waiting.append(try row.decode("id")) }
            }
            if outcomes["not_verified"] != earlier { try await Task.sleep(for: .milliseconds(50)) }
        }
        return outcomes
    }
}
