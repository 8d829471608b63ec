public import Foundation

/// A run in the list that the command `history` gives.
public struct PastRun: Hashable, Sendable {
    public let runID: Int64
    /// The moment that the run took for the present.
    public let now: Date
    public let state: State
    /// `nil` while it runs, and of a run that was killed.
    public let exitCode: Int?
    /// Why it did not end as it should have.
    public let reason: String?
    public let receipts: ReceiptCounts
    /// `nil` for a run that came to no report.
    public let cases: CaseCounts?
    public let pending: Int

    /// How far a run came, by the word that its row has for it.
    public enum State: String, Hashable, Sendable, CaseIterable {
        case running, complete
        case endedEarly = "ended_early"
        case failed, abandoned
    }

    public init(
        runID: Int64, now: Date, state: State, exitCode: Int?, reason: String?, receipts: ReceiptCounts,
        cases: CaseCounts?, pending: Int
    ) {
        self.runID = runID
        self.now = now
        self.state = state
        self.exitCode = exitCode
        self.reason = reason
        self.receipts = receipts
        self.cases = cases
        self.pending = pending
    }
}
