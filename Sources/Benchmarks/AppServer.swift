import Foundation
import PostgreSQL

/// The calls of an app's own server to the ledger, beside years of deliveries, over eight connections at once.
enum AppServer {
    private static let clients = 8
    /// The number of customers of each client.
    private static let customers = 500
    /// The milliseconds for a call beyond which a customer's login feels it.
    private static let limit = 2.0

    static func measure(_ bench: Bench) async throws -> [Measurement] {
        let database = "app_server"
        try await bench.dropDatabase(database)
        try await bench.copyDatabase(try await BlackTable.database(bench, rows: BlackTable.many), to: database)
        let conninfo = bench.conninfo(database)
        var measurements: [Measurement] = []
        for (name, aim, call) in calls {
            let median = try await median(of: call, conninfo)
            measurements.append(
                Measurement(
                    benchmark: "server", what: "\(name), ten million delivered, \(clients) clients at once",
                    value: median, unit: "ms", limit: limit, against: "2 ms", aim: aim))
        }
        try await bench.dropDatabase(database)
        return measurements
    }

    private typealias Call = @Sendable (_ id: String, _ user: String) -> SQL

    /// In the order of a purchase's life: it is handed in, asked for and claimed for each customer.
    private static let calls: [(name: String, aim: Measurement.Aim?, call: Call)] = [
        (
            "iap.admit", nil,
            { id, user in
                """
                SELECT iap.admit(
                    \(Bench.bundleID), 'Production', \(id), \(id), 'com.example.game.gems.60', 1, now(), \(user))
                """
            }
        ),
        ("iap.owed", .atMost(1), { _, user in "SELECT * FROM iap.owed(\(Bench.bundleID), \(user))" }),
        ("iap.status", .atMost(1), { id, _ in "SELECT * FROM iap.status(\(Bench.bundleID), \(id))" }),
        ("iap.claim", nil, { id, user in "SELECT iap.claim(\(Bench.bundleID), \(id), \(user))" }),
    ]

    private static func median(of call: @escaping Call, _ conninfo: String) async throws -> Double {
        let all = try await withThrowingTaskGroup(of: [Double].self) { group in
            for client in 0..<clients { group.addTask { try await times(of: call, client, conninfo) } }
            return try await group.reduce(into: [Double]()) { $0 += $1 }
        }
        return all.sorted()[all.count / 2]
    }

    private static func times(of call: Call, _ client: Int, _ conninfo: String) async throws -> [Double] {
        let connection = try await Connection.connect(ConnectionSettings(conninfo))
        defer { connection.close() }
        var times: [Double] = []
        for number in 0..<customers {
            let customer = client * customers + number
            let before = ContinuousClock.now
            _ = try await connection.query(call("8\(1_000_000 + customer)", "customer-\(customer)"))
            times.append((ContinuousClock.now - before) / .milliseconds(1))
        }
        return times
    }
}
