public import Foundation

/// What only the world knows: which orders were truly lost.
public struct Truth: Codable, Hashable, Sendable {
    /// A purchase that was paid, never delivered, is still owed, and of which something reached the server.
    public struct LostOrder: Codable, Hashable, Sendable {
        public let transactionID: String
        public let bundleID: String
        /// Who paid.
        public let userID: String
        public let productID: String
        /// In what way it was lost, such as `S01`.
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
    public let delivered: Int
    /// Refunded by now, whether delivered or not.
    public let refunded: Int
    /// Paid, not delivered, and still within the grace.
    public let pending: Int
    public let purchases: Int

    /// As JSON with ISO 8601 dates.
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
    /// What is true at the world's end.
    ///
    /// - Parameter grace: seconds after the purchase during which it may still be claimed normally.
    public func truth(grace: TimeInterval = 3_600) -> Truth {
        let delivered = Set(events.deliveries.filter { !$0.isRolledBack }.map(\.transaction.id))
        let refunded = Set(events.refunds.filter { $0.refund.at <= settings.now }.map(\.transactionID))
        let evident = evidentOriginalIDs
        let open = events.purchases.filter {
            !delivered.contains($0.transaction.id) && !refunded.contains($0.transaction.id)
                && evident.contains($0.transaction.originalID)
        }
        let graceBegin = settings.now.addingTimeInterval(-grace)
        let lost = open.filter { $0.transaction.purchasedAt <= graceBegin }
        return Truth(
            now: settings.now, lost: lost.map(Truth.LostOrder.init), delivered: delivered.count,
            refunded: refunded.count, pending: open.count - lost.count, purchases: events.purchases.count)
    }

    /// The purchases of which a receipt that Apple answers for was uploaded. A subscription's later periods are
    /// evident from any of them.
    private var evidentOriginalIDs: Set<String> {
        let gone = Set(events.deletedAccounts)
        let receipts = events.uploads.compactMap(\.receipt).filter { !gone.contains($0.account) }
        return Set(receipts.flatMap(\.transactions).map(\.originalID))
    }
}

extension Truth.LostOrder {
    fileprivate init(_ purchase: Purchase) {
        self.init(
            transactionID: purchase.transaction.id, bundleID: purchase.bundleID, userID: purchase.userID,
            productID: purchase.transaction.productID, scenario: purchase.scenario.rawValue,
            purchasedAt: purchase.transaction.purchasedAt)
    }
}
