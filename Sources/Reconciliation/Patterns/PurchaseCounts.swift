/// How many purchases of some sort are open cases, and how many were delivered.
public struct PurchaseCounts: Hashable, Sendable {
    public var cases: Int
    /// How many customers the cases have.
    public var customers: Int
    public var delivered: Int

    public init(cases: Int = 0, customers: Int = 0, delivered: Int = 0) {
        self.cases = cases
        self.customers = customers
        self.delivered = delivered
    }

    static func + (a: PurchaseCounts, b: PurchaseCounts) -> PurchaseCounts {
        PurchaseCounts(
            cases: a.cases + b.cases, customers: a.customers + b.customers, delivered: a.delivered + b.delivered)
    }
}

extension PurchaseCounts {
    /// Fewer cases say nothing of a cause: a night of a large app has ten by chance.
    public static let leastCases = 10
    /// If they are fewer, the cause may be one customer's own: one may have many cases.
    static let leastCustomers = 5
    /// How many times the share that the others lose counts as far more. With `leastCases` or more this is over five
    /// standard deviations, so it is no coincidence even if a thousand sorts are looked at each night.
    static let farMore = 5.0

    var isMany: Bool { cases >= Self.leastCases && customers >= Self.leastCustomers }

    /// Whether far more of these were lost than the others' share makes expect. If there are hardly any others, nothing
    /// stands out from them.
    func standsOut(from others: PurchaseCounts) -> Bool {
        guard isMany else { return false }
        // Counts one more lost and one more delivered: if none of a few others was lost, one still can be.
        let share = Double(others.cases + 1) / Double(others.cases + others.delivered + 2)
        return Double(cases) >= Self.farMore * share * Double(cases + delivered)
    }

    /// Whether more were delivered than lost.
    var isMostlyDelivered: Bool { delivered >= cases }
}
