public import Foundation

/// One purchase as Apple described it: a row of `in_app` or `latest_receipt_info`, a flat iOS 6 receipt, an entry of an
/// app receipt, or a signed transaction. Fields whose values Apple may extend are kept as sent.
public struct AppStoreTransaction: Sendable, Hashable {
    /// `transaction_id`; text, since ids of 18 digits occur.
    public var transactionID: String
    /// `original_transaction_id`; `nil` if the proof has none.
    public var originalTransactionID: String?
    public var productID: String
    public var quantity: Int
    public var purchaseDate: Date
    /// May be later than `purchaseDate`, mostly by seconds.
    public var originalPurchaseDate: Date?
    public var expiresDate: Date?
    /// When Apple refunded or revoked it (`cancellation_date`, `revocationDate`).
    public var cancellationDate: Date?
    /// Whether Apple told what became of it since the receipt was made, in `latest_receipt_info`. Without that, or where
    /// the receipt alone tells of a refund, it is as it was then.
    public var isToldNow = false
    /// As sent: `1` a problem with the app, `0` another, or a later value.
    public var cancellationReason: String?
    /// As sent: `REFUND_FULL`, `REFUND_PRORATED`, `FAMILY_REVOKE`, or a later value; `verifyReceipt` does not say it.
    public var revocationType: String?
    /// The part of the price that was refunded, in milliunits of a percent; `verifyReceipt` does not say it.
    public var revocationPercentage: Int?
    /// As sent: `PURCHASED`, `FAMILY_SHARED`, `ASSIGNED`, or a later value.
    public var ownershipType: String?
    public var isTrialPeriod: Bool
    public var isInIntroOfferPeriod: Bool
    /// Replaced by an upgrade within its subscription group.
    public var isUpgraded: Bool
    /// Stays the same for one period of a subscription, also when a restore changes the transaction's id.
    public var webOrderLineItemID: String?
    public var appAccountToken: String?
    /// One for each Apple account and app; `verifyReceipt` does not say it.
    public var appTransactionID: String?
    public var promotionalOfferID: String?
    public var offerCodeRefName: String?
    public var subscriptionGroupID: String?
    /// Apple's word for the kind of product (`Consumable` …); `verifyReceipt` does not say it.
    public var productType: String?
    /// The price in milliunits of `currency`; `verifyReceipt` does not say it.
    public var priceMilliunits: Int64?
    /// ISO 4217.
    public var currency: String?
    /// The App Store's country, ISO 3166-1 alpha-3; `verifyReceipt` does not say it.
    public var storefront: String?

    public init(
        transactionID: String, originalTransactionID: String? = nil, productID: String, quantity: Int = 1,
        purchaseDate: Date
    ) {
        self.transactionID = transactionID
        self.originalTransactionID = originalTransactionID
        self.productID = productID
        self.quantity = quantity
        self.purchaseDate = purchaseDate
        self.isTrialPeriod = false
        self.isInIntroOfferPeriod = false
        self.isUpgraded = false
    }
}
