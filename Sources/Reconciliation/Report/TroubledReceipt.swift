public import Foundation

/// A receipt that could not be used, or could not be verified yet, as the report lists it.
public struct TroubledReceipt: Hashable, Sendable {
    public var receiptID: Int64
    /// As the client's server handed it in; it need not be a valid one.
    public var bundleID: String
    public var userID: String?
    public var orderID: String?
    /// The transaction that the client said the receipt is for.
    public var transactionID: String?
    /// What the client said of its device, as JSON text.
    public var device: String?
    public var submittedAt: Date
    /// On how many nights it was tried.
    public var attempts: Int
    public var problem: ReceiptProblem
    /// What Apple or the decoder said, in a sentence; holds nothing of the payload.
    public var detail: String

    public init(
        receiptID: Int64, bundleID: String, userID: String?, orderID: String?, transactionID: String?,
        device: String?, submittedAt: Date, attempts: Int, problem: ReceiptProblem, detail: String
    ) {
        self.receiptID = receiptID
        self.bundleID = bundleID
        self.userID = userID
        self.orderID = orderID
        self.transactionID = transactionID
        self.device = device
        self.submittedAt = submittedAt
        self.attempts = attempts
        self.problem = problem
        self.detail = detail
    }
}
