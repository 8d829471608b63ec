import Foundation

/// Some thousand customers of two apps, what they bought, and what became of it. It depends on its settings alone.
public struct World: Sendable {
    public let settings: WorldSettings
    let events: WorldEvents

    public init(_ settings: WorldSettings) {
        self.settings = settings
        var events = WorldEvents()
        for number in 0..<settings.customers {
            var random = SeededRandom(seed: settings.seed, part: "customer", number: UInt64(number))
            let customer = Customer(number: number, random: &random)
            var story = Story(customer: customer, settings: settings, random: random)
            story.play()
            events.append(story.events)
        }
        self.events = events
    }

    /// The apps with their shared secrets.
    public static func apps(seed: UInt64) -> [SimulatedApp] {
        Catalog.all.map { SimulatedApp(bundleID: $0.bundleID, seed: seed) }
    }

    /// What Apple knows of this world, later refunds and renewals included.
    public var records: StoreRecords {
        var records = StoreRecords(apps: Self.apps(seed: settings.seed))
        for (transactionID, refund) in events.refunds { records.refund(transactionID, refund) }
        for subscription in events.subscriptions { records.add(subscription) }
        for purchase in events.stored { records.add(purchase) }
        for account in events.deletedAccounts { records.delete(account: account) }
        return records
    }
}
