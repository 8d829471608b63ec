public import AppStoreSimulator
import Foundation

/// Customers of some apps over some days, on phones that some of them share, with clients of five kinds, an unreliable
/// network and servers that are down at times, each with its own way to tell what it has delivered. Some customers
/// subscribed years ago. A world depends only on its settings.
public struct World: Sendable {
    public let settings: WorldSettings
    let events: WorldEvents

    init(settings: WorldSettings, events: WorldEvents) {
        self.settings = settings
        self.events = events
    }

    public init(_ settings: WorldSettings) {
        self.settings = settings
        let outages = settings.outages
        let lives = Parallel.map(0..<settings.customers) { number in
            var random = SeededRandom(seed: settings.seed, part: "life", number: UInt64(number))
            let app = settings.claimsOnly ? .game : WorldApp.any(&random)
            let customer = Customer(number: number, catalog: app.catalog, random: &random)
            var life = Life(app: app, customer: customer, settings: settings, outages: outages, random: random)
            life.play()
            var events = life.events
            if settings.keys.contains(app.bundleID) {
                events.takeUpWithApple(settings)
                if settings.hasForgeries, !app.hasOwnTables { events.forgeDeliveries(settings, catalog: app.catalog) }
            }
            return events
        }
        events = lives.reduce(into: WorldEvents()) { $0.append($1) }
    }

    /// All that was bought, and what became of it.
    public var purchases: [WorldPurchase] { events.purchases }

    /// The apps of every world.
    public static let apps = WorldApp.all

    /// The apps in the store, with their shared secrets.
    public static func storeApps(seed: UInt64) -> [SimulatedApp] {
        apps.map { SimulatedApp(bundleID: $0.bundleID, seed: seed) }
    }

    /// Everything that Apple knows of this world, later refunds included.
    public var records: StoreRecords {
        var records = StoreRecords(apps: Self.storeApps(seed: settings.seed))
        records.notices = settings.notices
        for (transactionID, refund) in events.refunds { records.refund(transactionID, refund) }
        for (transactionID, request) in events.requests { records.add(request, of: transactionID) }
        for subscription in subscriptions { records.add(subscription) }
        for purchase in events.stored { records.add(purchase) }
        for account in events.deletedAccounts { records.delete(account: account) }
        return records
    }

    private var subscriptions: [Subscription] {
        let periods = events.stored.map(\.transaction).filter(\.isAutoRenewable)
        return Dictionary(grouping: periods, by: \.originalID).values.map { periods in
            let periods = periods.sorted { $0.purchasedAt < $1.purchasedAt }
            let renews = periods.last?.expiresAt.map { $0 > settings.end } ?? false
            return Subscription(periods: periods, renews: renews, billingGrace: Life.billingGrace)
        }
    }
}
