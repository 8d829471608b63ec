extension ReasonRule {
    /// The upload never came, so nobody knows the customer, unless the purchase bears a token.
    static let onlyAppleTold = ReasonRule { $0.facts.notices.isOnlyWitness }
}
