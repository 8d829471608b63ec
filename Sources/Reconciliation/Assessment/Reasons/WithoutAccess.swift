extension ReasonRule {
    static let withoutAccess = ReasonRule(.withoutAccess) { $0.facts.subscription?.lack == .access }
}
