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
    /// Lost as well, but no receipt with it ever came (S09): only the customer's transaction history in the App Store
    /// Server API tells of it.
    public let lostWithoutReceipt: [LostOrder]
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
        let receipts = evidentReceipts
        // A subscription's later periods are evident from any of them.
        let evident = Set(receipts.flatMap(\.transactions).map(\.originalID))
        let accounts = Set(receipts.map(\.account))
        let unserved = events.purchases.filter {
            !delivered.contains($0.transaction.id) && !refunded.contains($0.transaction.id)
        }
        let open = unserved.filter { evident.contains($0.transaction.originalID) }
        let hidden = unserved.filter { !evident.contains($0.transaction.originalID) && accounts.contains($0.account) }
        let graceBegin = settings.now.addingTimeInterval(-grace)
        let lost = open.filter { $0.transaction.purchasedAt <= graceBegin }
        return Truth(
            now: settings.now, lost: lost.map(Truth.LostOrder.init),
            lostWithoutReceipt: hidden.filter { $0.transaction.purchasedAt <= graceBegin }.map(Truth.LostOrder.init),
            delivered: delivered.count, refunded: refunded.count, pending: open.count - lost.count,
            purchases: events.purchases.count)
    }

    /// The receipts that were uploaded and that Apple answers for.
    private var evidentReceipts: [SimulatedReceipt] {
        let gone = Set(events.deletedAccounts)
        return events.uploads.compactMap(\.receipt).filter { !gone.contains($0.account) }
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
