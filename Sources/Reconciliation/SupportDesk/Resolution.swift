/// What the support desk decides on a transaction.
public struct Resolution: Hashable, Sendable {
    /// What becomes of the transaction.
    public enum Decision: Hashable, Sendable {
        /// The goods were delivered by hand: to somebody, otherwise to the case's only owner; and perhaps for an order.
        case delivered(to: Recipient? = nil, orderID: String? = nil)
        /// Nothing is owed after all.
        case dismissed
        /// The money went back.
        case refunded
        /// An earlier decision was wrong: it is owed again.
        case reopened
        /// The app's server shall deliver it, without the customer.
        case redelivery

        /// To whom it was delivered, if that was said.
        public var recipient: Recipient? {
            if case .delivered(let recipient, _) = self { recipient } else { nil }
        }
    }

    /// A user to whom something was delivered by hand.
    public struct Recipient: Hashable, Sendable {
        public let userID: String
        /// Whether it is right that nobody has heard of that user before.
        public let isUnknown: Bool

        public init(userID: String, isUnknown: Bool = false) {
            self.userID = userID
            self.isUnknown = isUnknown
        }
    }

    public var transactionID: TransactionID
    public var decision: Decision
    /// Who decides.
    public var by: String
    public var note: String
    /// Which is meant, if the same id is known in several apps or environments.
    public var bundleID: BundleID?
    public var environment: Environment?

    public init(transactionID: TransactionID, decision: Decision, by who: String, note: String) {
        self.transactionID = transactionID
        self.decision = decision
        self.by = who
        self.note = note
    }
}

/// What became of a decision.
public enum ResolutionOutcome: Hashable, Sendable {
    case done
    /// It is delivered, and to nobody that is known: no user was named, and the case tells of no certain one.
    case deliveredToNobody
    /// Nothing was changed, for this reason.
    case unchanged(Reason)
    /// The id is known in several apps or environments, and it was not said which is meant.
    case ambiguous
    /// There is evidence for each of these users, and it was not said to whom it was delivered.
    case severalOwners([String])

    /// Why nothing was changed.
    public enum Reason: String, Hashable, Sendable, CaseIterable {
        case alreadyDelivered = "already_delivered"
        case alreadyWhite = "already_white"
        case excluded
        case notVerified = "not_verified"
        case refunded
        /// Nobody has heard of the user to whom it is said to have been delivered.
        case unknownUser = "unknown_user"
        /// It is not certain whose it is, so nothing is delivered without the customer.
        case ownerUncertain = "owner_uncertain"
    }
}
