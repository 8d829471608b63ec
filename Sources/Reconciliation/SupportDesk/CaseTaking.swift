public import Foundation

/// What became of taking a case.
public enum TakingOutcome: Hashable, Sendable {
    case taken
    case freed
    case noOpenCase
    /// Somebody has been on it since then.
    case takenAlready(by: String, since: Date)
    /// The id is known in several apps or environments, and it was not said which is meant.
    case ambiguous
}

/// Who of the support desk is on a case.
public struct CaseTaking: Hashable, Sendable {
    public let by: String
    public let since: Date

    public init(by who: String, since: Date) {
        self.by = who
        self.since = since
    }
}
