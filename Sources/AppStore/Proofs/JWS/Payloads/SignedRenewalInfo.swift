public import Foundation

/// How a subscription will go on, as Apple signed it. Any field may be missing; words of Apple's are kept as sent. It
/// names no app: what it came with does.
public struct SignedRenewalInfo: Sendable, Hashable {
    public var originalTransactionID: String?
    public var productID: String?
    /// The product that the next period will be of.
    public var autoRenewProductID: String?
    /// `1` it will renew, `0` the customer turned that off.
    public var autoRenewStatus: Int64?
    /// Why it expired, `1` to `5`.
    public var expirationIntent: Int64?
    /// Apple is still trying to collect the money.
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
}

extension SignedRenewalInfo: Decodable {
    private enum Key: String, CodingKey {
        case originalTransactionID = "originalTransactionId"
        case productID = "productId"
        case autoRenewProductID = "autoRenewProductId"
        case autoRenewStatus, expirationIntent, isInBillingRetryPeriod, gracePeriodExpiresDate, renewalDate
        case recentSubscriptionStartDate, currency, priceIncreaseStatus, offerType, offerDiscountType, appAccountToken
        case renewalPriceMilliunits = "renewalPrice"
        case offerID = "offerIdentifier"
        case appTransactionID = "appTransactionId"
        case signedDate, environment
    }

    public init(from decoder: any Decoder) throws {
        let payload = try decoder.container(keyedBy: Key.self)
        originalTransactionID = payload.text(.originalTransactionID)
        productID = payload.text(.productID)
        autoRenewProductID = payload.text(.autoRenewProductID)
        autoRenewStatus = payload.number(.autoRenewStatus)
        expirationIntent = payload.number(.expirationIntent)
        isInBillingRetryPeriod = payload.flag(.isInBillingRetryPeriod) ?? false
        gracePeriodExpiresDate = payload.milliseconds(.gracePeriodExpiresDate)
        renewalDate = payload.milliseconds(.renewalDate)
        recentSubscriptionStartDate = payload.milliseconds(.recentSubscriptionStartDate)
        renewalPriceMilliunits = payload.number(.renewalPriceMilliunits)
        currency = payload.text(.currency)
        priceIncreaseStatus = payload.number(.priceIncreaseStatus)
        offerType = payload.number(.offerType)
        offerID = payload.text(.offerID)
        offerDiscountType = payload.text(.offerDiscountType)
        appAccountToken = payload.text(.appAccountToken)
        appTransactionID = payload.text(.appTransactionID)
        signedDate = payload.milliseconds(.signedDate)
        environment = payload.text(.environment)
    }
}
