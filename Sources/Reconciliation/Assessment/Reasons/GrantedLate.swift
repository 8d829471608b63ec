extension ReasonRule {
    static let grantedLate = ReasonRule { $0.facts.subscription?.lack == .grantedLate }
}
