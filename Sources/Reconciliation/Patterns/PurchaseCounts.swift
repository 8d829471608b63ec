/// How many purchases of some sort are open cases, and how many were delivered.
public struct PurchaseCounts: Hashable, Sendable {
    public var cases: Int
    /// Whose cases they are.
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
    /// One customer's many purchases have a cause of that customer's.
    static let leastCustomers = 5
    /// How many times the share that the others lose is far more. Of `leastCases` or more that is over five standard
    /// deviations, and so no chance, where a thousand sorts are looked at each night.
    static let farMore = 5.0

    var isMany: Bool { cases >= Self.leastCases && customers >= Self.leastCustomers }

    /// Whether of these far more were lost than the others' share makes expect. Where hardly any others are, nothing
    /// stands out from them.
    func standsOut(from others: PurchaseCounts) -> Bool {
        guard isMany else { return false }
        // One more lost and one more delivered: that none was lost of a few others does not mean that none can be.
        let share = Double(others.cases + 1) / Double(others.cases + others.delivered + 2)
        return Double(cases) >= Self.farMore * share * Double(cases + delivered)
    }

    /// Whether more were delivered than lost.
    var isMostlyDelivered: Bool { delivered >= cases }
}
