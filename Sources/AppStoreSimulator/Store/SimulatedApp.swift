/// An app in the simulated App Store.
public struct SimulatedApp: Hashable, Sendable {
    public let bundleID: String
    /// The app's id in the store (`adam_id`, `app_item_id`).
    public let adamID: Int64
    /// The `password` that `verifyReceipt` requires if a receipt holds auto-renewables; `nil` if it requires none.
    public var sharedSecret: String?

    /// Whether the store sells it. The App Store Server API of production answers 401 for an app that was never
    /// released, and only the sandbox's knows it.
    public var isReleased: Bool

    public init(bundleID: String, adamID: Int64, sharedSecret: String? = nil, isReleased: Bool = true) {
        self.bundleID = bundleID
        self.adamID = adamID
        self.sharedSecret = sharedSecret
        self.isReleased = isReleased
    }

    /// The group of all the app's subscriptions.
    static func subscriptionGroup(of bundleID: String) -> String { "20\(bundleID.utf8.count)001" }

    /// The same for everything that an account did with an app (`appTransactionId`).
    static func appTransactionID(of account: String, in bundleID: String) -> String {
        String(700_000_000_000_000_000 + StableHash.of("\(bundleID) \(account)".utf8) % 100_000_000_000_000_000)
    }

    /// Makes an app whose id in the store and shared secret (32 hexadecimal digits, as Apple's) follow from the seed.
    public init(bundleID: String, seed: UInt64) {
        var random = SeededRandom(seed: seed, part: "app \(bundleID)")
        let adamID = Int64(1_400_000_000 + random.next() % 100_000_000)
        let digits = Array("0123456789abcdef")
        let secret = String((0..<32).map { _ in random.pick(digits) })
        self.init(bundleID: bundleID, adamID: adamID, sharedSecret: secret)
    }
}
