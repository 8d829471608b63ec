/// What became of the receipts of a run.
public struct ReceiptCounts: Hashable, Sendable {
    /// Due when the run began.
    public var due: Int
    public var verified: Int
    /// To be tried again: Apple asked for that, or could not be reached.
    public var tryAgain: Int
    public var unusable: Int

    public init(due: Int = 0, verified: Int = 0, tryAgain: Int = 0, unusable: Int = 0) {
        self.due = due
        self.verified = verified
        self.tryAgain = tryAgain
        self.unusable = unusable
    }

    /// Tried in this run.
    public var tried: Int { verified + tryAgain + unusable }

    /// Not tried in this run.
    public var left: Int { max(0, due - tried) }

    /// Left to the next night: not tried, or to be tried again.
    public var waiting: Int { left + tryAgain }
}
