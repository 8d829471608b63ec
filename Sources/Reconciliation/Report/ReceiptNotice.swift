public import Foundation

/// A receipt that could not be used, or could not be verified yet, as the report lists it.
public struct ReceiptNotice: Hashable, Sendable {
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

/// Why a receipt could not be used, or not yet. The raw value is the error code in the table `receipts`.
public enum ReceiptProblem: String, Hashable, Sendable, Codable, CaseIterable {
    // Could not be used.
    case empty
    case tooLarge = "too_large"
    case malformed
    case notGenuine = "not_genuine"
    case noTransactions = "no_transactions"
    case accountGone = "account_gone"
    /// Apple says it is not genuine, and Apple's own signature holds.
    case contradicted
    /// It is genuine, and does not hold the purchase that it was uploaded for.
    case transactionMissing = "transaction_missing"
    // Not verified yet.
    case tryAgain = "try_again"
    case appleUnreachable = "apple_unreachable"
    case unreadableAnswer = "unreadable_answer"
    case needsConfiguration = "needs_configuration"
    case unknownApp = "unknown_app"

    /// Whether asking again may still make the receipt usable.
    public var mayPass: Bool {
        switch self {
        case .empty, .tooLarge, .malformed, .notGenuine, .noTransactions, .accountGone, .contradicted,
            .transactionMissing:
            false
        case .tryAgain, .appleUnreachable, .unreadableAnswer, .needsConfiguration, .unknownApp: true
        }
    }
}
