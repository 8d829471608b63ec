public import Foundation

/// An attempt of the app's server to claim the transaction, by which it was not delivered.
public struct ClaimAttempt: Hashable, Sendable, Codable {
    public let outcome: ClaimOutcome
    public let userID: String
    public let orderID: String?
    public let attemptedAt: Date

    public init(outcome: ClaimOutcome, userID: String, orderID: String?, attemptedAt: Date) {
        self.outcome = outcome
        self.userID = userID
        self.orderID = orderID
        self.attemptedAt = attemptedAt
    }
}

/// What `iap.claim` answers.
public enum ClaimOutcome: String, Hashable, Sendable, Codable, CaseIterable {
    case delivered
    case alreadyDelivered = "already_delivered"
    case notVerified = "not_verified"
    case wrongUser = "wrong_user"
    /// Another purchase was delivered for the order.
    case orderUsed = "order_used"
    case excluded
    /// The support desk has to decide.
    case undecided
}
