public import Foundation

/// How a case ended.
public enum CaseEnd: String, Hashable, Sendable, Codable, CaseIterable {
    /// By a claim, or by the support desk.
    case delivered
    /// The support desk found that nothing is owed.
    case dismissed
    case refunded
    /// Apple's latest word is that nothing is owed.
    case withdrawn
}

/// The cases of a report by number and money.
public struct CaseCounts: Hashable, Sendable {
    public var byLikelihood: [Likelihood: Int]
    /// Opened by this run.
    public var new: Int
    /// Closed before, and opened again by this run.
    public var reopened: Int
    /// Closed, and reported by no earlier run, by how they ended.
    public var closed: [CaseEnd: Int]
    /// The money of the cases by currency, in the currency's order.
    public var money: [Money]
    /// Cases whose price is not known.
    public var unpriced: Int
    public var oldestPurchase: Date?

    public init(
        byLikelihood: [Likelihood: Int] = [:], new: Int = 0, reopened: Int = 0, closed: [CaseEnd: Int] = [:],
        money: [Money] = [], unpriced: Int = 0,
        oldestPurchase: Date? = nil
    ) {
        self.byLikelihood = byLikelihood
        self.new = new
        self.reopened = reopened
        self.closed = closed
        self.money = money
        self.unpriced = unpriced
        self.oldestPurchase = oldestPurchase
    }

    public var total: Int { byLikelihood.values.reduce(0, +) }
}
