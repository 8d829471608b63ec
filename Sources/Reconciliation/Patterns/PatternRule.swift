/// One thing that many cases may have in common, and the condition for it.
struct PatternRule: Sendable {
    let find: @Sendable (PatternFacts) -> [Pattern]

    init(_ find: @escaping @Sendable (PatternFacts) -> [Pattern]) {
        self.find = find
    }

    static let all: [PatternRule] = [.outage, .productNeverDelivered, .deviceLosesMore, .hoursLost]
}

extension Pattern {
    /// The patterns of all apps, those with the most cases first.
    public static func all(in facts: [PatternFacts]) -> [Pattern] {
        facts.flatMap { facts in PatternRule.all.flatMap { $0.find(facts) } }
            .sorted { ($1.counts.cases, $0.order) < ($0.counts.cases, $1.order) }
    }

    /// Decides between patterns with equally many cases.
    private var order: String { "\(bundleID) \(cause)" }
}
