public import Foundation

/// How a subscription will go on, as Apple signed it. Any field may be missing; Apple's words are kept as sent. It
/// names no app: what it came with does.
public struct SignedRenewalInfo: Sendable, Hashable {
    public var originalTransactionID: String?
    public var productID: String?
    /// The product of the next period.
    public var autoRenewProductID: String?
    /// `1` it will renew, `0` the customer turned that off.
    public var autoRenewStatus: Int64?
    /// Why it expired, `1` to `5`.
    public var expirationIntent: Int64?
    /// Whether Apple is still trying to collect the money.
    public var isInBillingRetryPeriod: Bool
    public var gracePeriodExpiresDate: Date?
    public var renewalDate: Date?
    public var recentSubscriptionStartDate: Date?
    /// In milliunits of `currency`.
    public var renewalPriceMilliunits: Int64?
    /// ISO 4217.
    public var currency: String?
    public var priceIncreaseStatus: Int64?
    public var offerType: Int64?
    public var offerID: String?
    public var offerDiscountType: String?
    public var appAccountToken: String?
    public var appTransactionID: String?
    public var signedDate: Date?
    /// `Production`, `Sandbox`; `Xcode` and `LocalTesting` are not signed by Apple.
    public var environment: String?
}

extension SignedRenewalInfo: SignedPayload {
    var app: AppClaims? { nil }

    init(_ payload: JSONObject) {
        originalTransactionID = payload.text("originalTransactionId")
        productID = payload.text("productId")
        autoRenewProductID = payload.text("autoRenewProductId")
        autoRenewStatus = payload.integer("autoRenewStatus")
        expirationIntent = payload.integer("expirationIntent")
        isInBillingRetryPeriod = payload.flag("isInBillingRetryPeriod") ?? false
        gracePeriodExpiresDate = payload.date("gracePeriodExpiresDate")
        renewalDate = payload.date("renewalDate")
        recentSubscriptionStartDate = payload.date("recentSubscriptionStartDate")
        renewalPriceMilliunits = payload.integer("renewalPrice")
        currency = payload.text("currency")
        priceIncreaseStatus = payload.integer("priceIncreaseStatus")
        offerType = payload.integer("offerType")
        offerID = payload.text("offerIdentifier")
        offerDiscountType = payload.text("offerDiscountType")
        appAccountToken = payload.text("appAccountToken")
        appTransactionID = payload.text("appTransactionId")
        signedDate = payload.date("signedDate")
        environment = payload.text("environment")
    }
}
