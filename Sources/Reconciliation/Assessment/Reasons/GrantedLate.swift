extension ReasonRule {
    static let grantedLate = ReasonRule(.grantedLate) { $0.facts.subscription?.lack == .grantedLate }
}
