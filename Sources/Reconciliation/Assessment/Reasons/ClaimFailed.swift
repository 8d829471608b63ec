extension ReasonRule {
    /// The app's server tried to claim it and was refused, and never came back with success.
    static let claimFailed = ReasonRule { !$0.facts.claims.isEmpty }
}
