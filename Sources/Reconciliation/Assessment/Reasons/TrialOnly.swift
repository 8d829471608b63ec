extension ReasonRule {
    static let trialOnly = ReasonRule { $0.facts.subscription?.lack == .trial }
}
