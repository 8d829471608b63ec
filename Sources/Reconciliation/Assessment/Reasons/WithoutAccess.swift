extension ReasonRule {
    static let withoutAccess = ReasonRule { $0.facts.subscription?.lack == .access }
}
