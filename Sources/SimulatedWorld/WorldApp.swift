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
    /// How it tells of subscriptions; all else it claims.
    let subscriptions: DeliveryWay
    /// Whether its server writes what it delivers and grants into tables of its own, which the night reads.
    var hasOwnTables = false
    /// Of what it tells nothing.
    var untold: Set<SimulatedTransaction.ProductType> = []
    /// After how many days of the world its server is connected. Before that it delivers unseen.
    var connectedAfter = 0.0
    /// After how many days its server forgets for two days to extend what it has granted.
    var forgetsAfter: Double?
    /// What the configuration says of deliveries, by product type.
    public var delivery: [String: String] = [:]
    /// Whether the configuration says that this job looks after the app since the world's beginning.
    var hasSince = false
    /// By what its receipts are verified where it has a key. By default the key is there to hear with alone.
    var verification = "verify-receipt"

    public var bundleID: String { catalog.bundleID }

    /// It claims what it sells, as it did before this job, which was told since when it looks after it.
    static let game = WorldApp(
        catalog: .game, subscriptions: .claims,
        delivery: ["consumable": "claim", "non_consumable": "claim", "auto_renewable": "claim"], hasSince: true)

    /// It kept entitlements for years, in tables of its own, and says so in its configuration.
    static let reader = WorldApp(
        catalog: .reader, subscriptions: .entitlements, hasOwnTables: true, forgetsAfter: 3.2,
        delivery: ["consumable": "claim", "non_consumable": "claim", "auto_renewable": "entitlement"],
        verification: "auto")

    /// What it does tells how it delivers, but nothing tells of its non-consumables.
    static let cinema = WorldApp(
        catalog: .cinema, subscriptions: .entitlements, untold: [.nonConsumable], forgetsAfter: 7.6)

    /// Its server is connected on the tenth day, and its non-consumables never.
    static let fitness = WorldApp(
        catalog: .fitness, subscriptions: .entitlements, untold: [.nonConsumable], connectedAfter: 9.4,
        delivery: ["non_consumable": "ignore"])

    static let all = [game, reader, cinema, fitness]
    static let withOwnTables = Set(all.filter(\.hasOwnTables).map(\.bundleID))

    /// One of so many customers as each app has.
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

    /// Since when the job looks after it, as its configuration says.
    public func since(_ settings: WorldSettings) -> Date? {
        hasSince ? settings.begin : nil
    }

    /// Whether its receipts are verified by its customers' histories, which tell of more than the receipts hold.
    func readsHistories(_ settings: WorldSettings) -> Bool {
        settings.keys.contains(bundleID) && !settings.handsNoticesOn && verification == "auto"
    }

    /// What its section of the job's configuration says beside its secret.
    ///
    /// - Parameters:
    ///   - keyFile: of the App Store Server API, for an app that has a key.
    ///   - redelivers: whether the server of the app that claims all it delivers delivers without the customer, too.
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
