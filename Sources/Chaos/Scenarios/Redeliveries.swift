import AppStoreSimulator
import Foundation
import PostgreSQL
import SimulatedWorld
import TestSupport

/// An app's servers deliver what the night and the support desk order, without the customers: sixty-four of them, while
/// another night runs. They die between credit and commit, hang on their leases, and deliver the same twice.
enum Redeliveries {
    static func scenarios(points: Int) -> [Scenario] {
        [
            Scenario(
                "redeliveries", "64 takers deliver what is ordered, die, hang, and do so twice",
                points: max(2, points / 10),
                play: nights)
        ]
    }

    private static let takers = 64
    private static let lease = 1.0

    private static func nights(_ stage: Stage, _ point: Point) async throws {
        var job = stage.job
        job.redelivers = true
        try await stage.run(job, expecting: [0])
        let ordered = try await order(stage)
        guard ordered > 20 else { throw Broken("\(ordered) redeliveries were ordered: nothing was disturbed") }
        try await stage.run(job, expecting: [0]) { _ in
            try await withThrowingTaskGroup(of: Void.self) { group in
                for number in 1...takers {
                    let random = SeededRandom(seed: UInt64(point.number), part: "taker", number: UInt64(number))
                    group.addTask { try await Taker(stage: stage, random: random).work() }
                }
                try await group.waitForAll()
            }
        }
        try await Task.sleep(for: .seconds(lease + 0.2))
        try await finish(stage)
        // The next night tells what the takers did during a night.
        job.now += Theatre.day
        try await stage.run(job, expecting: [0])
        try await check(stage)
    }

    /// Orders, as the support desk, whatever the night was not sure enough of; returns how many redeliveries there are.
    private static func order(_ stage: Stage) async throws -> Int {
        let owner = try await stage.connect()
        defer { owner.close() }
        try await owner.executeScript(
            unsafe: """
                CREATE TABLE shop.credits (transaction_id text NOT NULL, user_id text NOT NULL);
                GRANT USAGE ON SCHEMA shop TO iap_app;
                GRANT INSERT ON shop.credits TO iap_app;
                """)
        try await owner.execute(
            """
            SELECT iap.redeliver(transaction_id, 'sue', 'chaos', bundle_id, environment)
            FROM iap.cases
            WHERE state = 'open'
            """)
        return try await count("iap.redeliveries", owner)
    }

    private static func count(_ table: SQL, _ connection: Connection) async throws -> Int {
        try await connection.query("SELECT count(*) AS n FROM \(table)").first?.decode("n") ?? 0
    }

    /// Takes what is left with one server that nothing disturbs.
    private static func finish(_ stage: Stage) async throws {
        var taker = Taker(stage: stage, random: SeededRandom(seed: 1, part: "finish"))
        taker.isDisturbed = false
        try await taker.work()
    }

    private static func check(_ stage: Stage) async throws {
        try await Invariants(stage: stage).check()
        let connection = try await stage.connect()
        defer { connection.close() }
        let queries: [(what: String, sql: SQL)] = [
            (
                "a customer was credited twice",
                "SELECT FROM shop.credits GROUP BY transaction_id HAVING count(*) > 1"
            ),
            (
                "a credit is no delivery to that user",
                """
                SELECT FROM shop.credits
                LEFT JOIN iap.black ON black.transaction_id = credits.transaction_id AND black.user_id = credits.user_id
                WHERE black.transaction_id IS NULL
                """
            ),
            (
                // What the last night ordered anew was not taken yet.
                "a redelivery that was taken is neither done nor ended otherwise",
                "SELECT FROM iap.redeliveries WHERE ended_at IS NULL AND tries BETWEEN 1 AND 4"
            ),
            (
                "a redelivery that is done was not credited",
                """
                SELECT FROM iap.redeliveries
                LEFT JOIN shop.credits USING (transaction_id)
                WHERE ended_as = 'redelivered' AND credits.transaction_id IS NULL
                """
            ),
        ]
        for (what, sql) in queries where try await !connection.query(sql).isEmpty { throw Broken(what) }
        let credits = try await count("shop.credits", connection)
        guard credits > 20 else { throw Broken("only \(credits) were credited") }
        try await checkOwners(stage, connection)
    }

    /// Checks that what the night itself was sure of went to whoever paid.
    private static func checkOwners(_ stage: Stage, _ connection: Connection) async throws {
        let payers = Dictionary(
            stage.theatre.world.purchases.map { ($0.transactionID, $0.userID) }, uniquingKeysWith: { first, _ in first }
        )
        let rows = try await connection.query(
            "SELECT transaction_id, user_id FROM iap.redeliveries WHERE ordered_by = 'iap-reconcile'")
        for row in rows {
            let (id, user) = (
                try row.decode("transaction_id", as: String.self), try row.decode("user_id", as: String.self)
            )
            guard payers[id] == user else { throw Broken("\(id) was ordered for \(user), who did not pay it") }
        }
    }
}

/// One of an app's servers.
private struct Taker {
    let stage: Stage
    var random: SeededRandom
    var isDisturbed = true

    private enum Disturbance {
        case none, death, hanging, twice

        static let drawn: [Disturbance] = [.none, .none, .death, .hanging, .twice]
    }

    private struct Taken {
        let bundleID: String
        let transactionID: String
        let userID: String
        let tries: Int
    }

    private struct Refused: Error {}

    init(stage: Stage, random: SeededRandom) {
        self.stage = stage
        self.random = random
    }

    /// Takes and delivers until nothing is left to take.
    func work() async throws {
        var random = random
        var server = try await stage.connect(as: "iap_app")
        defer { server.close() }
        while let taken = try await trying({ try await take(server) }), !taken.isEmpty {
            for one in taken {
                // A redelivery whose taker dies each time is given up.
                let isQuiet = !isDisturbed || one.tries > 3
                switch isQuiet ? Disturbance.none : random.pick(Disturbance.drawn) {
                case .none: try await trying { try await deliver(one, server) }
                case .death:
                    try await die(one, server)
                    server = try await stage.connect(as: "iap_app")
                case .hanging:
                    try await Task.sleep(for: .milliseconds(1_200))
                    try await trying { try await deliver(one, server) }
                case .twice:
                    for _ in 1...2 { try await trying { try await deliver(one, server) } }
                }
            }
        }
    }

    private func take(_ server: Connection) async throws -> [Taken] {
        try await server.query(
            """
            SELECT app.bundle_id, taken.transaction_id, taken.user_id, taken.try
            FROM unnest(\(World.apps.map(\.bundleID))) AS app (bundle_id)
            CROSS JOIN LATERAL iap.take_redeliveries(app.bundle_id, 1, '1 second') AS taken
            """
        ).map { row in
            Taken(
                bundleID: try row.decode("bundle_id"), transactionID: try row.decode("transaction_id"),
                userID: try row.decode("user_id"), tries: Int(try row.decode("try", as: Int32.self)))
        }
    }

    /// Credits and claims in one transaction, as docs/integrate.md says.
    private func deliver(_ taken: Taken, _ server: Connection) async throws {
        do {
            try await server.transaction {
                try await credit(taken, server)
                guard try await claim(taken, server) == "delivered" else { throw Refused() }
            }
        } catch .body(is Refused, rollback: _) {}
    }

    private func die(_ taken: Taken, _ server: Connection) async throws {
        defer { server.close() }
        try await trying {
            try await server.execute("BEGIN")
            try await credit(taken, server)
            _ = try await claim(taken, server)
        }
    }

    private func credit(_ taken: Taken, _ server: Connection) async throws {
        try await server.execute("INSERT INTO shop.credits VALUES (\(taken.transactionID), \(taken.userID))")
    }

    private func claim(_ taken: Taken, _ server: Connection) async throws -> String {
        let claim: SQL = "SELECT iap.claim(\(taken.bundleID), \(taken.transactionID), \(taken.userID)) AS said"
        return try await server.query(claim).first?.decode("said") ?? ""
    }

    /// If a lock or a deadlock ends a delivery, the server goes on, and the redelivery comes back.
    @discardableResult
    private func trying<Value>(_ body: () async throws -> Value) async throws -> Value? {
        do {
            return try await body()
        } catch let error as PostgreSQLError where error.isTransient {
            return nil
        } catch TransactionError.body(let error as PostgreSQLError, _) where error.isTransient {
            return nil
        }
    }
}
