public import Foundation

/// A purchase, or something that looks like one, with all that only the world knows of it.
public struct NightsPurchase: Sendable {
    public let bundleID: String
    let transaction: SimulatedTransaction
    public let scheme: Scheme
    public let mishap: Mishap
    /// Who was logged in when it was paid.
    public let userID: String
    /// Whether the app owes anything for it; sandbox purchases and the like are not owed.
    public let isOwed: Bool
    /// The app's own order that it pays for.
    public var orderID: String?
    /// When a receipt that tells of it first reached the server.
    public var evidentAt: Date?
    public var deliveredAt: Date?
    public var deliveredTo: String?
    public var refundedAt: Date?

    public var transactionID: String { transaction.id }
    public var productID: String { transaction.productID }
    public var units: Int { transaction.quantity }
    public var purchasedAt: Date { transaction.purchasedAt }

    /// Whether it is paid and owed at a moment, and was neither delivered nor refunded.
    func isOpen(at moment: Date) -> Bool {
        isOwed && purchasedAt <= moment && (deliveredAt.map { $0 > moment } ?? true)
            && (refundedAt.map { $0 > moment } ?? true)
    }
}

/// An order that the app's server opens.
struct NightsOrder: Sendable {
    let bundleID: String
    let id: String
    let userID: String
    let productID: String
    let at: Date
}

/// The app's server claims a purchase, after it admitted it, or only claims.
struct NightsClaim: Sendable {
    enum Kind: String, Sendable {
        /// Admitted, claimed, delivered.
        case delivered
        /// Admitted and claimed, in a transaction that fails.
        case rolledBack = "rolled_back"
        /// Claimed only, by somebody who comes too late.
        case alreadyDelivered = "already_delivered"
    }

    let bundleID: String
    let transaction: SimulatedTransaction
    let userID: String
    let orderID: String?
    /// The number of the upload that brought it, within the same events.
    var upload: Int
    let at: Date
    let kind: Kind
}

/// Everything that happens in a customer's life, or in the whole world.
struct NightsEvents: Sendable {
    var purchases: [NightsPurchase] = []
    var orders: [NightsOrder] = []
    var uploads: [Upload] = []
    var claims: [NightsClaim] = []
    var stored: [StoredPurchase] = []
    var refunds: [(transactionID: String, refund: Refund)] = []

    /// Adds another's events after these.
    mutating func append(_ other: NightsEvents) {
        let offset = uploads.count
        purchases += other.purchases
        orders += other.orders
        uploads += other.uploads
        claims += other.claims.map { claim in
            var claim = claim
            claim.upload += offset
            return claim
        }
        stored += other.stored
        refunds += other.refunds
    }
}
