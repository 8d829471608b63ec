public import Foundation

/// What became of a comment on a transaction.
public enum CommentOutcome: Hashable, Sendable {
    case noted
    /// No verified transaction has the id.
    case notVerified
    /// The id is known in several apps or environments, and it was not said which is meant.
    case ambiguous
}

/// A comment of the support desk's on a transaction.
public struct DeskComment: Hashable, Sendable {
    public let at: Date
    public let by: String
    public let text: String

    public init(at: Date, by who: String, text: String) {
        self.at = at
        self.by = who
        self.text = text
    }
}
