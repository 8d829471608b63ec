import AppStoreSimulator
public import Foundation

/// What only the world knows of its last night: which orders were truly lost.
public struct Truth: Codable, Hashable, Sendable {
    /// A purchase that was paid, never delivered and is still owed, and that something reached the server of, or Apple
    /// told.
    public struct LostOrder: Codable, Hashable, Sendable {
        public let transactionID: String
        public let bundleID: String
        /// The user who paid.
        public let userID: String
        public let productID: String
        /// How it was lost, such as `S01`.
        public let scenario: String
        public let purchasedAt: Date

        enum CodingKeys: String, CodingKey {
            case transactionID = "transaction_id"
            case bundleID = "bundle_id"
            case userID = "user_id"
            case productID = "product_id"
            case scenario
            case purchasedAt = "purchased_at"
        }
    }

    public let now: Date
    public let lost: [LostOrder]
    /// Lost as well, but no receipt with it ever came (S09), and Apple tells nothing by itself: only the customer's
    /// transaction history in the App Store Server API shows it.
    public let lostWithoutReceipt: [LostOrder]
    /// Whether the job was told of it or not.
    public let delivered: Int
    /// Refunded by now, whether delivered or not.
    public let refunded: Int
    /// Paid, not delivered, and still within the grace.
    public let pending: Int
    public let purchases: Int

    enum CodingKeys: String, CodingKey {
        case now, lost
        case lostWithoutReceipt = "lost_without_receipt"
        case delivered, refunded, pending, purchases
    }

    /// The truth as JSON with ISO 8601 dates.
    public func json() throws -> Data {
        let encoder = JSONEncoder()
        encoder.dateEncodingStrategy = .iso8601
        encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
        return try encoder.encode(self)
    }
}

extension Truth {
    public init(json: Data) throws {
        let decoder = JSONDecoder()
        decoder.dateDecodingStrategy = .iso8601
        self = try decoder.decode(Truth.self, from: json)
    }
}

extension World {
    /// The truth on a night, by default the last one.
    ///
    /// - Parameter grace: seconds after the purchase during which it may still be claimed normally.
    public func truth(ofNight night: Int? = nil, grace: TimeInterval = WorldTally.grace) -> Truth {
        let night = night ?? settings.nights
        let end = settings.moment(ofNight: night)
        let has = { (moment: Date?) in moment.map { $0 <= end } ?? false }
        let fates = purchases.map(Fates(self, grace: grace).fate)
        let accounts = Set(purchases.filter { has($0.toldAt) }.map(\.account))
        let isTold = { (fate: Fate) in fate.lostNights.contains(night) || fate.heardNights.contains(night) }
        let hidden = fates.filter {
            $0.dueNights.contains(night) && !isTold($0) && accounts.contains($0.purchase.account)
        }
        return Truth(
            now: end,
            lost: fates.filter(isTold).map { Truth.LostOrder($0.purchase) },
            lostWithoutReceipt: hidden.map { Truth.LostOrder($0.purchase) },
            delivered: purchases.count { $0.isServed && (has($0.deliveredAt) || $0.deliveredAt == nil) },
            refunded: purchases.count { has($0.refundedAt) },
            pending: fates.count { $0.pendingNights.contains(night) },
            purchases: purchases.count { $0.isOwed && has($0.purchasedAt) })
    }
}

extension Truth.LostOrder {
    fileprivate init(_ purchase: WorldPurchase) {
        self.init(
            transactionID: purchase.transactionID, bundleID: purchase.bundleID, userID: purchase.userID,
            productID: purchase.productID, scenario: purchase.mishap.rawValue, purchasedAt: purchase.purchasedAt)
    }
}
