public import Foundation

/// What became of the deliveries that are made without the customer.
public struct RedeliveryFigures: Hashable, Sendable {
    /// Ordered by this run.
    public var ordered = 0
    /// Made since the run before.
    public var delivered = 0
    /// Not ended yet.
    public var open = 0
    /// How many of the open ones were taken and not claimed within their lease, or not taken for a day.
    public var failing = 0
    /// The first of those, by the number of their tries.
    public var failures: [FailingRedelivery] = []

    public init(
        ordered: Int = 0, delivered: Int = 0, open: Int = 0, failing: Int = 0, failures: [FailingRedelivery] = []
    ) {
        self.ordered = ordered
        self.delivered = delivered
        self.open = open
        self.failing = failing
        self.failures = failures
    }

    /// Whether there is nothing to tell of.
    public var isEmpty: Bool { self == RedeliveryFigures() }
}

/// A redelivery that the app's server took and did not claim within its lease, or did not take for a day.
public struct FailingRedelivery: Hashable, Sendable {
    public let key: TransactionKey
    public let userID: String
    /// How often it was taken.
    public let tries: Int
    /// Whether that was the last time: a person may order it anew.
    public let isGivenUp: Bool
    /// When it was last taken; `nil` if it never was.
    public let takenAt: Date?

    public init(key: TransactionKey, userID: String, tries: Int, isGivenUp: Bool, takenAt: Date?) {
        self.key = key
        self.userID = userID
        self.tries = tries
        self.isGivenUp = isGivenUp
        self.takenAt = takenAt
    }
}
