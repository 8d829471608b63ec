extension ReasonRule {
    static let accessGap = ReasonRule(.accessGap) { $0.facts.subscription?.lack == .pastAccess }
}
