import AppStoreSimulator
public import Foundation

/// A purchase, or something that looks like one, with everything that only the world knows of it.
public struct WorldPurchase: Sendable {
    public let bundleID: String
    let transaction: SimulatedTransaction
    /// The Apple account that paid.
    let account: String
    public let scheme: Scheme
    public let mishap: Mishap
    /// The user who was logged in at the payment.
    public let userID: String
    /// Whether the app owes anything for it; it owes nothing for sandbox purchases and the like.
    public let isOwed: Bool
    /// Whether the app's server keeps until when it has granted access, and does not claim it.
    let isEntitled: Bool
    /// The app's own order that it pays for.
    public var orderID: String?
    /// When a receipt that shows it first reached the server.
    public var evidentAt: Date?
    public var deliveredAt: Date?
    public var deliveredTo: String?
    /// When the app's server withdrew its grant.
    var revokedAt: Date?
    public var refundedAt: Date?
    /// How much was refunded, in thousandths of a percent; `nil` for the whole.
    var refundedShare: Int64?
    /// When Apple took the money again.
    var refundReversedAt: Date?
    /// When Apple's notifications appear: of the purchase, of its refund, and of the refund's reversal. `nil` if Apple
    /// never tells it by itself.
    var notifiedAt: (purchase: Date?, refund: Date?, reversal: Date?)
    /// Delivered, but nothing told the job.
    var isServedUnseen = false

    public var transactionID: String { transaction.id }
    public var productID: String { transaction.productID }
    public var units: Int { transaction.quantity }
    public var purchasedAt: Date { transaction.purchasedAt }
    /// The end of its period; a purchase that does not renew never ends.
    var expiresAt: Date { transaction.expiresAt ?? .distantFuture }

    /// When anything that the job reads first told of it.
    var toldAt: Date? { [evidentAt, notifiedAt.purchase].compactMap(\.self).min() }

    var isServed: Bool { deliveredAt != nil || isServedUnseen }
    /// Whether it was delivered by an entitlement.
    var isGranted: Bool { isEntitled && deliveredAt != nil }
}

/// An order that the app's server opens.
struct WorldOrder: Sendable {
    let bundleID: String
    let id: String
    let userID: String
    let productID: String
    let at: Date
}

/// A claim of a purchase by the app's server, with or without admitting it first.
struct WorldClaim: Sendable {
    enum Kind: String, Sendable {
        /// Admitted, claimed, delivered.
        case delivered
        /// Admitted and claimed, in a transaction that fails.
        case rolledBack = "rolled_back"
        /// Only claimed, by a user who comes too late.
        case alreadyDelivered = "already_delivered"
    }

    let bundleID: String
    let transaction: SimulatedTransaction
    let userID: String
    let orderID: String?
    /// The index of the upload that brought it, within the same events.
    var upload: Int
    let at: Date
    let kind: Kind

    /// The same claim, if its events follow this many uploads of others.
    fileprivate func behind(_ uploads: Int) -> WorldClaim {
        var claim = self
        claim.upload += uploads
        return claim
    }
}

/// What the app's server says of a subscription for which it keeps an entitlement.
struct WorldGrant: Sendable {
    enum Word: Sendable {
        case granted(until: Date, to: String)
        case revoked
    }

    let bundleID: String
    let originalID: String
    let word: Word
    let at: Date
}

/// Everything that happens in a customer's life, or in the whole world.
struct WorldEvents: Sendable {
    var purchases: [WorldPurchase] = []
    var orders: [WorldOrder] = []
    var uploads: [Upload] = []
    var claims: [WorldClaim] = []
    var forged: [ForgedDelivery] = []
    var grants: [WorldGrant] = []
    var stored: [StoredPurchase] = []
    var refunds: [(transactionID: String, refund: Refund)] = []
    var requests: [(transactionID: String, request: ConsumptionRequest)] = []
    var deletedAccounts: [String] = []

    /// Appends another's events.
    mutating func append(_ other: WorldEvents) {
        let offset = uploads.count
        purchases += other.purchases
        orders += other.orders
        uploads += other.uploads
        claims += other.claims.map { $0.behind(offset) }
        forged += other.forged.map { ForgedDelivery(kind: $0.kind, claim: $0.claim.behind(offset)) }
        grants += other.grants
        stored += other.stored
        refunds += other.refunds
        requests += other.requests
        deletedAccounts += other.deletedAccounts
    }
}
