extension ReasonRule {
    /// Paid and verified, and the app's server never tried to claim it.
    static let neverClaimed = ReasonRule { $0.facts.claims.isEmpty && $0.facts.subscription == nil }
}
