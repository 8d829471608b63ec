import AppStoreSimulator
import Foundation
import PostgreSQL

/// A redelivery by an app's server after a night.
struct WorldRedelivery: Sendable {
    let night: Int
    let transactionID: String
}

extension World {
    /// The same world, but with these delivered to whoever paid.
    func delivering(_ redeliveries: [WorldRedelivery]) -> World {
        let nights = Dictionary(redeliveries.map { ($0.transactionID, $0.night) }, uniquingKeysWith: min)
        var events = events
        for index in events.purchases.indices {
            guard let night = nights[events.purchases[index].transactionID] else { continue }
            // After everything that was seen on that night.
            events.purchases[index].deliveredAt = settings.moment(ofNight: night) + WorldStage.afterNight
            events.purchases[index].deliveredTo = events.purchases[index].userID
        }
        return World(settings: settings, events: events)
    }
}

extension WorldStage {
    /// Seconds after the beginning of a night at which the app's server takes what the night found.
    static let afterNight: TimeInterval = 1_800

    /// Lets the apps' server take the redeliveries that the night ordered, and credit and claim them. In every fourth
    /// it crashes between credit and commit, and takes it again when its lease is over. It claims every fifth twice.
    public func redeliver(night: Int) async throws {
        let moment = world.settings.moment(ofNight: night) + Self.afterNight
        for attempt in 1...2 {
            let taken = try await connection.query(
                """
                SELECT
                    app.bundle_id, t.transaction_id, t.user_id, t.order_ids[1] AS order_id,
                    hashtext(t.transaction_id) AS draw
                FROM unnest(\(World.apps.map(\.bundleID))) AS app (bundle_id)
                CROSS JOIN LATERAL iap.take_redeliveries(app.bundle_id, 10000, '1 second') AS t
                """)
            for row in taken {
                let draw = Int(try row("draw", as: Int32.self).magnitude)
                let order = Order(
                    bundleID: try row("bundle_id"), transactionID: try row("transaction_id"),
                    userID: try row("user_id"), orderID: try row("order_id"))
                if attempt == 1, draw % 4 == 0 {
                    try await crash(order, at: moment)
                } else {
                    try await deliver(order, at: moment, night: night)
                    if draw % 5 == 0 { try await expect("already_delivered", of: order, at: moment) }
                }
            }
            if attempt == 1 { try await Task.sleep(for: .milliseconds(1_100)) }
        }
    }

    private struct Order {
        let bundleID: String
        let transactionID: String
        let userID: String
        let orderID: String?
    }

    private struct Crash: Error {}

    private func crash(_ order: Order, at moment: Date) async throws {
        do {
            try await connection.transaction {
                try await expect("delivered", of: order, at: moment)
                throw Crash()
            }
        } catch .body(is Crash, rollback: nil) {}
    }

    private func deliver(_ order: Order, at moment: Date, night: Int) async throws {
        try await connection.transaction {
            try await expect("delivered", of: order, at: moment)
            try await connection.execute(
                "INSERT INTO world.redeliveries VALUES (\(Int32(night)), \(order.bundleID), \(order.transactionID))")
        }
    }

    private func expect(_ wanted: String, of order: Order, at moment: Date) async throws {
        let rows = try await connection.query(
            """
            SELECT
                set_config('iap.present', \(moment)::text, true),
                iap.claim(\(order.bundleID), \(order.transactionID), \(order.userID), \(order.orderID)) AS outcome
            """)
        let outcome = try rows.first.map { try $0("outcome", as: String.self) }
        guard outcome == wanted else {
            throw SimulatorError.database(
                "\(order.transactionID), which was to be delivered, met \(outcome ?? "nothing"), and not \(wanted)")
        }
    }

    func redeliveries() async throws -> [WorldRedelivery] {
        try await connection.query("SELECT night, transaction_id FROM world.redeliveries").map { row in
            WorldRedelivery(
                night: Int(try row("night", as: Int32.self)), transactionID: try row("transaction_id"))
        }
    }
}
