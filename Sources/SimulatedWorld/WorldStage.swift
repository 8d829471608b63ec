public import AppStoreSimulator
import Foundation
import PostgreSQL

/// A database on which a world is played, through the functions that the apps' servers call. What belongs only to the
/// world is in a schema of its own. It needs the rights of the schema's owner.
public final class WorldStage {
    let world: World
    let connection: Connection

    private init(world: World, connection: Connection) {
        self.world = world
        self.connection = connection
    }

    /// Connects, and prepares what is missing.
    public static func open<Value>(
        _ world: World, on conninfo: String, _ body: (WorldStage) async throws -> Value
    ) async throws(SimulatorError) -> Value {
        do {
            let connection = try await Connection.connect(
                ConnectionSettings(conninfo, applicationName: "appstore-simulator"))
            defer { connection.close() }
            let stage = WorldStage(world: world, connection: connection)
            try await stage.prepare()
            return try await body(stage)
        } catch let error as SimulatorError {
            throw error
        } catch {
            throw .database("\(error)")
        }
    }

    private func prepare() async throws {
        try await connection.executeScript(
            unsafe: """
                CREATE SCHEMA IF NOT EXISTS world;
                CREATE TABLE IF NOT EXISTS world.uploads (
                    number integer PRIMARY KEY, receipt_id bigint NOT NULL, transaction_id text, order_id text,
                    at timestamptz NOT NULL);
                CREATE INDEX IF NOT EXISTS uploads_by_receipt ON world.uploads (receipt_id);
                CREATE TABLE IF NOT EXISTS world.observations (
                    night integer NOT NULL, transaction_id text NOT NULL, bundle_id text NOT NULL,
                    environment text NOT NULL, likelihood text NOT NULL, owners text[] NOT NULL,
                    orders text[] NOT NULL, periods text[] NOT NULL,
                    PRIMARY KEY (night, transaction_id, bundle_id, environment));
                CREATE TABLE IF NOT EXISTS world.refunds (
                    night integer NOT NULL, transaction_id text NOT NULL, share bigint,
                    PRIMARY KEY (night, transaction_id));
                CREATE TABLE IF NOT EXISTS world.redeliveries (
                    night integer NOT NULL, bundle_id text NOT NULL, transaction_id text NOT NULL,
                    PRIMARY KEY (transaction_id, bundle_id));
                \(CompanyTables.schema)
                """)
    }

    /// Plays the day before a night, and moves what the functions stamped with the present to the day's moments.
    public func play(day: Int) async throws {
        try await play(day...day)
    }

    /// Plays all days up to one, by default the last, without a night between them.
    public func play(to day: Int? = nil) async throws {
        try await play(1...(day ?? world.settings.nights))
    }

    private func play(_ days: ClosedRange<Int>) async throws {
        if days.lowerBound == 1 { try await connection.fillProducts(World.apps.map(\.catalog)) }
        try await WorldDays(days: days, world: world, connection: connection).play()
    }

    /// Records what the job says after a night.
    public func observe(night: Int) async throws {
        try await connection.execute(
            """
            INSERT INTO world.observations
            SELECT
                \(Int32(night)), transaction_id, bundle_id, environment, likelihood, owner_user_ids, order_ids,
                periods
            FROM iap.cases
            WHERE state = 'open'
            """)
        if !world.settings.keys.isEmpty { try await connection.execute(Self.refunds(night)) }
    }

    /// Records the ledger's refunds after the delivery, with their shares.
    private static func refunds(_ night: Int) -> SQL {
        """
        INSERT INTO world.refunds
        SELECT \(Int32(night)), transaction_id, revocation_percentage
        FROM iap.transactions
        WHERE place = 'black' AND refunded_at IS NOT NULL AND environment = 'Production'
            AND revocation_type IS DISTINCT FROM 'FAMILY_REVOKE'
        """
    }

    /// Judges all nights that were observed.
    public func tally() async throws -> WorldTally {
        let rows = try await connection.query(
            """
            SELECT night, bundle_id, transaction_id, periods, likelihood, owners, orders
            FROM world.observations
            ORDER BY night
            """)
        let observations = try rows.map { row in
            WorldObservation(
                night: Int(try row("night", as: Int32.self)), bundleID: try row("bundle_id"),
                transactionID: try row("transaction_id"), periods: try row("periods"),
                isHigh: try row("likelihood", as: String.self) == "high", owners: try row("owners"),
                orders: try row("orders"))
        }
        let redeliveries = try await redeliveries()
        return WorldTally(
            world: world.delivering(redeliveries), observations: observations, deliveries: try await deliveries(),
            unanswered: try await unanswered(), refunds: try await refunds(), unproved: try await unproved(),
            redelivered: redeliveries.count)
    }

    private func unproved() async throws -> Set<String> {
        guard !world.settings.keys.isEmpty else { return [] }
        return try await Set(
            connection.query("SELECT transaction_id FROM iap.unproved").map { try $0("transaction_id") })
    }

    private func refunds() async throws -> [RefundObservation] {
        try await connection.query("SELECT night, transaction_id, share FROM world.refunds").map { row in
            RefundObservation(
                night: Int(try row("night", as: Int32.self)), transactionID: try row("transaction_id"),
                share: try row("share"))
        }
    }

    /// The purchases that are only in receipts for which Apple has not answered yet.
    private func unanswered() async throws -> Set<String> {
        let rows = try await connection.query(
            """
            SELECT number
            FROM world.uploads
            JOIN iap.receipts USING (receipt_id)
            WHERE receipts.state = 'waiting'
            """)
        let numbers = Set(try rows.map { Int(try $0("number", as: Int32.self)) })
        var waiting: Set<String> = []
        var answered: Set<String> = []
        for (number, upload) in world.events.uploads.enumerated() {
            let held = upload.receipt?.transactions.map(\.id) ?? []
            if numbers.contains(number) { waiting.formUnion(held) } else { answered.formUnion(held) }
        }
        return waiting.subtracting(answered)
    }

    private func deliveries() async throws -> WorldTally.Deliveries {
        let black = try await connection.query("SELECT transaction_id, user_id FROM iap.black")
        let twice = try await connection.query(
            """
            SELECT transaction_id
            FROM iap.claims
            WHERE outcome = 'delivered'
            GROUP BY transaction_id, bundle_id
            HAVING count(*) > 1
            """)
        var users: [String: String] = [:]
        for row in black { users[try row("transaction_id")] = try row("user_id", as: String.self) }
        return WorldTally.Deliveries(users: users, twice: twice.count)
    }
}
