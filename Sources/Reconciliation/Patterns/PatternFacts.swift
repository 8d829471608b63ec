public import Foundation

/// What the rules know of an app's latest purchases: how many are cases and how many were delivered, by what they have
/// in common.
public struct PatternFacts: Sendable {
    /// Purchases that have something in common, and the others for which that is known.
    public struct Share: Hashable, Sendable {
        public let counts: PurchaseCounts
        public let others: PurchaseCounts

        public init(_ counts: PurchaseCounts, others: PurchaseCounts) {
            self.counts = counts
            self.others = others
        }
    }

    /// The purchases after the last one that was delivered.
    public struct Silence: Hashable, Sendable {
        public let since: Date
        public var counts = PurchaseCounts()

        public init(since: Date) {
            self.since = since
        }
    }

    public let bundleID: BundleID
    /// The moment from which on purchases are compared, up to where nothing is delivered any more.
    public let from: Date
    public var silence: Silence?
    /// All purchases that are compared.
    public var all = PurchaseCounts()
    public var products: [ProductID: Share] = [:]
    public var traits: [DeviceTrait: [String: Share]] = [:]
    /// By the hour in which they were bought.
    public var hours: [Date: PurchaseCounts] = [:]
    /// The customers of each hour's cases, as hashes: one customer may have cases of several hours.
    public var hourlyCustomers: [Date: Set<Int64>] = [:]

    public init(bundleID: BundleID, from: Date, silence: Silence? = nil) {
        self.bundleID = bundleID
        self.from = from
        self.silence = silence
    }

    /// Where the comparison ends; `nil` if deliveries go on.
    var until: Date? { silence?.since }
}
