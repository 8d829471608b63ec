public import Foundation

/// What became of taking a case.
public enum TakingOutcome: Hashable, Sendable {
    case taken
    case freed
    case noOpenCase
    /// Somebody is on it, since then.
    case takenAlready(by: String, since: Date)
    /// The id is known in several places, and which is meant was not said.
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
