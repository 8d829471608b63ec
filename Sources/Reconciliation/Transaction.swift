public import Foundation

/// One purchase, as Apple described it: one entry of `in_app` or `latest_receipt_info`, or one signed transaction.
public struct Transaction: Hashable, Sendable {
    public var id: TransactionID
    /// The first purchase that this one renews or restores; its own id if it is the first.
    public var originalID: TransactionID
    public var productID: ProductID
    public var quantity: Int
    public var purchasedAt: Date
    public var originalPurchasedAt: Date?
    public var expiresAt: Date?
    /// When Apple refunded or revoked it (`cancellation_date`, `revocationDate`).
    public var refundedAt: Date?
    /// Apple's word for the reason, as sent: `0`, `1`, or a later value.
    public var refundReason: String?
    /// Apple's word for the kind of refund, as sent: `REFUND_FULL`, `REFUND_PRORATED`, `FAMILY_REVOKE`, or a later
    /// value; only signed transactions say it.
    public var revocationType: String?
    /// The part of the price that was refunded, in milliunits of a percent: 0 to 100000; only signed transactions say
    /// it.
    public var revocationPercentage: Int?
    /// `in_app_ownership_type`, as sent: `PURCHASED`, `FAMILY_SHARED`, `ASSIGNED`, or a later value.
    public var ownership: String?
    public var isTrial: Bool
    /// Replaced by an upgrade within its subscription group: the upgrade is what is owed.
    public var isUpgraded: Bool
    /// `web_order_line_item_id`: the period of a subscription, which keeps it when it is restored.
    public var webOrderLineItemID: String?
    public var appAccountToken: String?
    /// Apple's id for the customer's account in this app; only signed transactions say it. Values that changed within
    /// one history have been seen: evidence, not proof.
    public var appTransactionID: String?
    public var price: Money?
    /// The App Store's country, ISO 3166-1 alpha-3.
    public var storefront: String?
    /// The product's type if Apple told it (a signed transaction does, `verifyReceipt` does not).
    public var productType: ProductType?

    public init(
        id: TransactionID, originalID: TransactionID? = nil, productID: ProductID, quantity: Int = 1,
        purchasedAt: Date
    ) {
        self.id = id
        self.originalID = originalID ?? id
        self.productID = productID
        self.quantity = quantity
        self.purchasedAt = purchasedAt
        self.isTrial = false
        self.isUpgraded = false
    }
}

/// What names a transaction in every table: sandbox and production number theirs independently, and a receipt of
/// one app may be handed in for another.
public struct TransactionKey: Hashable, Sendable, Comparable {
    public let id: TransactionID
    public let bundleID: BundleID
    public let environment: Environment

    public init(id: TransactionID, bundleID: BundleID, environment: Environment) {
        self.id = id
        self.bundleID = bundleID
        self.environment = environment
    }

    public static func < (a: TransactionKey, b: TransactionKey) -> Bool {
        if a.id != b.id { return a.id < b.id }
        if a.bundleID != b.bundleID { return a.bundleID < b.bundleID }
        return a.environment.rawValue < b.environment.rawValue
    }
}
