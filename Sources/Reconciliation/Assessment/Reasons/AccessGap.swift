extension ReasonRule {
    static let accessGap = ReasonRule { $0.facts.subscription?.lack == .pastAccess }
}
