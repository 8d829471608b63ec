import AppStoreSimulator
import Foundation
import PostgreSQL
import TestSupport

/// An app's servers claim heavily all the time: what is white in an undisturbed night may be black in this one.
enum Claims {
    static func scenarios(points: Int) -> [Scenario] {
        [
            Scenario(
                "app-server", "an app's servers claim everything, four at once, all night", points: max(2, points / 10),
                play: night)
        ]
    }

    private static func night(_ stage: Stage, _ point: Point) async throws {
        let wanted = try await purchases(stage)
        try await stage.run(stage.job, expecting: [0]) { child in
            let delivered = try await claim(wanted, point, stage, while: child)
            guard delivered > 0 else { throw Broken("no claim was delivered: nothing was disturbed") }
        }
        try await compare(stage)
        // The books of the next run balance over what was claimed after this one.
        try await stage.run(stage.job, expecting: [0])
        try await compare(stage)
    }

    /// Claims from four servers at once; returns how many claims were delivered.
    private static func claim(
        _ wanted: [Purchase], _ point: Point, _ stage: Stage, while child: ChildProcess
    ) async throws -> Int {
        try await withThrowingTaskGroup(of: Int.self) { group in
            for server in 1...4 {
                let random = SeededRandom(seed: UInt64(point.number), part: "server", number: UInt64(server))
                group.addTask { try await claim(wanted, random, stage, while: child) }
            }
            return try await group.reduce(0, +)
        }
    }

    private struct Purchase: Sendable {
        let bundleID: String
        let transactionID: String
        let userID: String
    }

    /// What is white after an undisturbed night and has somebody to claim it for.
    private static func purchases(_ stage: Stage) async throws -> [Purchase] {
        try stage.theatre.undisturbed.objects(of: "white").map { row in
            guard let bundleID = row["bundle_id"] as? String, let id = row["transaction_id"] as? String else {
                throw Broken("a white row has no transaction id")
            }
            return Purchase(
                bundleID: bundleID, transactionID: id, userID: row["admitted_user_id"] as? String ?? "a customer")
        }
    }

    /// Claims one purchase after another, over and over; returns how many were delivered.
    private static func claim(
        _ wanted: [Purchase], _ random: SeededRandom, _ stage: Stage, while child: ChildProcess
    ) async throws -> Int {
        var random = random
        let server = try await stage.connect(as: "iap_app")
        defer { server.close() }
        var delivered = 0
        while child.isRunning {
            if try await claim(random.pick(wanted), server) { delivered += 1 }
        }
        return delivered
    }

    /// Returns whether the claim was delivered. One that a lock or a deadlock ended was not: a server tries again.
    private static func claim(_ purchase: Purchase, _ server: Connection) async throws -> Bool {
        let claim: SQL =
            "SELECT iap.claim(\(purchase.bundleID), \(purchase.transactionID), \(purchase.userID), NULL) AS said"
        let rows: [Row]
        do {
            rows = try await server.query(claim)
        } catch {
            guard error.isTransient else { throw error }
            return false
        }
        return try rows.first?.decode("said", as: String.self) == "delivered"
    }

    /// Compares: nothing is lost or doubled, so what is white or black, and what is excluded, is as after an
    /// undisturbed night.
    private static func compare(_ stage: Stage) async throws {
        try await Invariants(stage: stage).check()
        let (mine, undisturbed) = (try await stage.snapshot(), stage.theatre.undisturbed)
        try mine.keeping(["excluded", "sightings"]).expectSame(as: undisturbed.keeping(["excluded", "sightings"]))
        let (owed, expected) = (try transactions(mine), try transactions(undisturbed))
        guard owed == expected else {
            throw Broken(
                "white and black together: \(owed.count) transactions, undisturbed \(expected.count); "
                    + "missing \(Set(expected).subtracting(owed).sorted().prefix(5))")
        }
    }

    private static func transactions(_ snapshot: Snapshot) throws -> [String] {
        try ["white", "black"].flatMap { try snapshot.objects(of: $0) }
            .map { "\($0["bundle_id"] ?? "") \($0["environment"] ?? "") \($0["transaction_id"] ?? "")" }.sorted()
    }
}
