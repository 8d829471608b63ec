/// What the rules make of a case: how likely it is a lost order, why, whose it is, and what to do.
public struct Assessment: Hashable, Sendable {
    public let likelihood: Likelihood
    /// In the order in which support staff should read them.
    public let reasons: [Reason]
    public let owner: Owner
    /// Every user for whom there is evidence, and that evidence; the likeliest first.
    public let candidates: [OwnerCandidate]
    /// The app's own orders that it may pay for, the likeliest first.
    public let orderIDs: [String]
    public let action: SuggestedAction

    public init(
        likelihood: Likelihood, reasons: [Reason], owner: Owner, candidates: [OwnerCandidate] = [],
        orderIDs: [String] = [], action: SuggestedAction
    ) {
        self.likelihood = likelihood
        self.reasons = reasons
        self.owner = owner
        self.candidates = candidates
        self.orderIDs = orderIDs
        self.action = action
    }
}

extension Assessment {
    /// The users who may have bought it, the likeliest first, even if they are too uncertain to be named as its owner.
    public var usersToAsk: [String] { owner.candidates.isEmpty ? candidates.map(\.userID) : owner.candidates }
}

/// How likely it is that a case is a lost order.
public enum Likelihood: String, Hashable, Sendable, Codable, CaseIterable, Comparable {
    case high, medium, low

    /// `high` comes first, as in the report.
    public static func < (a: Likelihood, b: Likelihood) -> Bool { a.rank < b.rank }
}

/// What support staff should do about a case.
public enum SuggestedAction: String, Hashable, Sendable, Codable, CaseIterable {
    /// Deliver to the owner.
    case deliver
    /// Ask those who may be the owner before delivering.
    case contact
    /// Look out for fraud: many users presented it.
    case lookOut = "look_out"
    /// Wait: a later night may still mend it.
    case wait
    /// The purchase can't be judged from here: look at the product and the receipt first.
    case investigate
}
