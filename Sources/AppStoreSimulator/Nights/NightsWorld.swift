import Foundation

/// Customers of two apps over many days, on phones that some of them share, with clients of five kinds, a network
/// that is shaky and a server that is down at times. It depends on its settings alone.
public struct NightsWorld: Sendable {
    public let settings: NightsSettings
    let events: NightsEvents

    public init(_ settings: NightsSettings) {
        self.settings = settings
        let outages = settings.outages
        let lives = Parallel.map(0..<settings.customers) { number in
            var random = SeededRandom(seed: settings.seed, part: "life", number: UInt64(number))
            let customer = Customer(number: number, random: &random)
            var life = Life(customer: customer, settings: settings, outages: outages, random: random)
            life.play()
            return life.events
        }
        events = lives.reduce(into: NightsEvents()) { $0.append($1) }
    }

    /// All that was bought, and what became of it.
    public var purchases: [NightsPurchase] { events.purchases }

    /// What Apple knows of this world, later refunds included.
    public var records: StoreRecords {
        var records = StoreRecords(apps: World.apps(seed: settings.seed))
        for (transactionID, refund) in events.refunds { records.refund(transactionID, refund) }
        for subscription in subscriptions { records.add(subscription) }
        for purchase in events.stored { records.add(purchase) }
        return records
    }

    private var subscriptions: [Subscription] {
        let periods = events.stored.map(\.transaction).filter(\.isAutoRenewable)
        return Dictionary(grouping: periods, by: \.originalID).values.map { periods in
            Subscription(periods: periods.sorted { $0.purchasedAt < $1.purchasedAt }, renews: false)
        }
    }
}
