extension ReasonRule {
    static let trialOnly = ReasonRule(.trialOnly) { $0.facts.subscription?.lack == .trial }
}
