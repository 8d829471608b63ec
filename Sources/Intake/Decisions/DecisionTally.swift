public import Reconciliation

/// What became of a file's decisions.
public struct DecisionTally: Hashable, Sendable {
    public fileprivate(set) var done = 0
    public fileprivate(set) var already = 0
    public fileprivate(set) var refused: [DecisionRefusal: Int] = [:]
    /// Whether all lines were tried.
    public package(set) var isComplete = false

    public var refusedCount: Int { refused.values.reduce(0, +) }

    package init() {}

    mutating func count(_ outcome: DecisionOutcome) {
        switch outcome {
        case .done: done += 1
        case .already: already += 1
        case .refused(let reason): refused[reason, default: 0] += 1
        }
    }
}
