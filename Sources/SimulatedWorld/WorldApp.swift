import AppStoreSimulator
public import Foundation

/// How an app's server lets the job see what it has delivered of subscriptions.
enum DeliveryWay: Sendable {
    /// Each period is claimed.
    case claims
    /// The server says until when it has granted access.
    case entitlements
}

/// An app of a world: what it sells, and how its server tells the job what it has delivered.
public struct WorldApp: Sendable {
    let catalog: Catalog
    /// How it tells of subscriptions; it claims everything else.
    let subscriptions: DeliveryWay
    /// Whether its server writes its deliveries and grants into its own tables, which the night reads.
    var hasOwnTables = false
    /// The product types of which it tells nothing.
    var untold: Set<SimulatedTransaction.ProductType> = []
    /// The days of the world after which its server is connected. Before that it delivers unseen.
    var connectedAfter = 0.0
    /// The days after which its server forgets for two days to extend its grants.
    var forgetsAfter: Double?
    /// The configuration of deliveries, by product type.
    public var delivery: [String: String] = [:]
    /// Whether the configuration says that this job looks after the app since the world's beginning.
    var hasSince = false
    /// How its receipts are verified if it has a key. By default the key is only for hearing.
    var verification = "verify-receipt"

    public var bundleID: String { catalog.bundleID }

    /// It claims what it sells, as it did before this job; the configuration says since when the job looks after it.
    static let game = WorldApp(
        catalog: .game, subscriptions: .claims,
        delivery: ["consumable": "claim", "non_consumable": "claim", "auto_renewable": "claim"], hasSince: true)

    /// It kept entitlements for years, in its own tables, and says so in its configuration.
    static let reader = WorldApp(
        catalog: .reader, subscriptions: .entitlements, hasOwnTables: true, forgetsAfter: 3.2,
        delivery: ["consumable": "claim", "non_consumable": "claim", "auto_renewable": "entitlement"],
        verification: "auto")

    /// Its calls show how it delivers, but nothing shows its non-consumables.
    static let cinema = WorldApp(
        catalog: .cinema, subscriptions: .entitlements, untold: [.nonConsumable], forgetsAfter: 7.6)

    /// Its server is connected on the tenth day, and never for its non-consumables.
    static let fitness = WorldApp(
        catalog: .fitness, subscriptions: .entitlements, untold: [.nonConsumable], connectedAfter: 9.4,
        delivery: ["non_consumable": "ignore"])

    static let all = [game, reader, cinema, fitness]
    static let withOwnTables = Set(all.filter(\.hasOwnTables).map(\.bundleID))

    /// Picks an app, weighted by the number of its customers.
    static func any(_ random: inout SeededRandom) -> WorldApp {
        random.pick([game, game, game, game, reader, reader, reader, cinema, cinema, fitness])
    }

    /// When its server is connected.
    func connectedAt(_ settings: WorldSettings) -> Date {
        settings.begin + connectedAfter * WorldSettings.day
    }

    /// The first night that can judge what its server tells.
    func firstNight(_ settings: WorldSettings) -> Int {
        settings.nightRun(from: connectedAt(settings))
    }

    /// When its server forgets.
    func forgets(_ settings: WorldSettings) -> Range<Date>? {
        forgetsAfter.map { days in
            let begin = settings.begin + days * WorldSettings.day
            return begin..<begin + 2 * WorldSettings.day
        }
    }

    /// From when on the job looks after it, as its configuration says.
    public func since(_ settings: WorldSettings) -> Date? {
        hasSince ? settings.begin : nil
    }

    /// Whether its receipts are verified by its customers' histories, which show more than the receipts.
    func readsHistories(_ settings: WorldSettings) -> Bool {
        settings.keys.contains(bundleID) && !settings.handsNoticesOn && verification == "auto"
    }

    /// Its section of the job's configuration, without its secret.
    ///
    /// - Parameters:
    ///   - keyFile: the key for the App Store Server API, if the app has one.
    ///   - redelivers: whether the server of the app that claims all its deliveries makes redeliveries, too.
    public func configuration(
        _ settings: WorldSettings, keyFile: String? = nil, redelivers: Bool = false
    ) -> String {
        var lines = ["environment = production", "grace = 1h", "storefronts = CHN JPN USA"]
        if let keyFile, settings.keys.contains(bundleID), !settings.handsNoticesOn {
            lines += [
                "verification = \(verification)", "server_api_issuer_id = \(APIKey.issuerID)",
                "server_api_key_id = \(APIKey.keyID)", "server_api_key_file = \(keyFile)",
            ]
        }
        if redelivers, subscriptions == .claims { lines.append("redeliver = high") }
        if let since = since(settings) { lines.append("since = \(since.formatted(.iso8601))") }
        lines += delivery.sorted { $0.key < $1.key }.map { "\($0.key) = \($0.value)" }
        return lines.joined(separator: "\n")
    }
}
