/// What hearing notices came to.
public struct NoticeTotals: Hashable, Sendable, Codable {
    /// Notices that were not known before.
    public var fresh = 0
    /// Transactions that nobody knew, and that went into the inbox, or would have in a dry run.
    public var unknown = 0
    /// Transactions that another session had locked: their notices are read again.
    public var locked: [TransactionID] = []

    public init(fresh: Int = 0, unknown: Int = 0) {
        self.fresh = fresh
        self.unknown = unknown
    }

    public static func += (a: inout NoticeTotals, b: NoticeTotals) {
        a.fresh += b.fresh
        a.unknown += b.unknown
        a.locked += b.locked
    }

    /// Adds what was taken a second time, because it had been locked.
    public mutating func add(takenAgain again: NoticeTotals) {
        fresh += again.fresh
        unknown += again.unknown
        locked = again.locked
    }
}
