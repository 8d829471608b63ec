public import Foundation

/// What `verifyReceipt` said of a genuine receipt.
public struct VerifiedReceiptAnswer: Sendable, Hashable {
    /// As sent: `Production`, `Sandbox`; if an iOS 6 answer has none, that of the endpoint that answered.
    public var environment: String
    /// `bundle_id`, or `bid` of an iOS 6 receipt.
    public var bundleID: String?
    /// As sent: `Production`, `ProductionVPP`, `ProductionSandbox`, `ProductionVPPSandbox`, or a later value.
    public var receiptType: String?
    public var applicationVersion: String?
    public var receiptCreationDate: Date?
    /// When Apple answered, by Apple's clock.
    public var requestDate: Date?
    /// The union of `in_app` and `latest_receipt_info` by transaction id, in the order of the answer; neither list
    /// contains the other.
    public var transactions: [AppStoreTransaction]
    /// How many different ids Apple's answer has in `in_app`, the list of what the receipt itself holds.
    public var idsInReceipt: Int
    public var pendingRenewals: [PendingRenewal]
    /// Whether it is an iOS 6 style receipt, which is one transaction.
    public var isFlat: Bool
    /// What could not be read, a sentence for each that names the row and the field; the rest is used.
    public var unusableRows: [String]

    public init(environment: String, transactions: [AppStoreTransaction] = []) {
        self.environment = environment
        self.transactions = transactions
        self.idsInReceipt = 0
        self.pendingRenewals = []
        self.isFlat = false
        self.unusableRows = []
    }
}

/// How a subscription will go on: an entry of `pending_renewal_info`, or the same fields of an iOS 6 answer, as sent.
public struct PendingRenewal: Sendable, Hashable {
    public var originalTransactionID: String?
    public var productID: String?
    /// The product of the next period.
    public var autoRenewProductID: String?
    /// `1` it will renew, `0` the customer turned that off.
    public var autoRenewStatus: String?
    /// Why it expired, `1` to `5`.
    public var expirationIntent: String?
    /// Whether Apple is still trying to collect the money.
    public var isInBillingRetryPeriod: Bool
    public var gracePeriodExpiresDate: Date?

    public init() {
        self.isInBillingRetryPeriod = false
    }
}
