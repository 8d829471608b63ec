/// What asking Apple again about customers and deliveries came to.
public struct AskingTotals: Hashable, Sendable, Codable {
    /// Customers and deliveries of which Apple told.
    public var asked = 0
    /// Transactions that nobody knew, and that went into the inbox, or would have in a dry run.
    public var unknown = 0
    /// Questions that Apple did not answer; they are asked again.
    public var unanswered = 0
    /// Transactions that another session had locked: they are asked about again.
    public var locked: [TransactionID] = []

    public init(asked: Int = 0, unknown: Int = 0, unanswered: Int = 0) {
        self.asked = asked
        self.unknown = unknown
        self.unanswered = unanswered
    }

    public static func += (a: inout AskingTotals, b: AskingTotals) {
        a.asked += b.asked
        a.unknown += b.unknown
        a.unanswered += b.unanswered
        a.locked += b.locked
    }

    /// Adds what was taken a second time, because it had been locked: it was asked about once.
    public mutating func add(takenAgain again: AskingTotals) {
        unknown += again.unknown
        locked = again.locked
    }
}
