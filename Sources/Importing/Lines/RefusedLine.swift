package import Reconciliation

/// Why a line was not taken.
public enum RefusalReason: String, CaseIterable, Sendable {
    /// Not CSV as RFC 4180 has it, not a JSON object, or another number of fields than the header.
    case malformed
    /// Longer than any receipt may be.
    case tooLong = "too_long"
    /// A text that is not UTF-8, or holds a NUL, which PostgreSQL can't store.
    case notText = "not_text"
    /// A field of JSON that this kind of line has not.
    case unknownField = "unknown_field"
    case missing
    case badValue = "bad_value"
    /// The ledger says otherwise.
    case contradiction
    /// Of an app without a section in the configuration; where that has none at all, an import may hold any.
    case unknownApp = "unknown_app"
}

/// A line that was not taken. It holds nothing of the line but its id.
public struct RefusedLine: Hashable, Sendable {
    /// Where it begins, counted from 1, the header included.
    public let line: Int
    public let reason: RefusalReason
    /// By which the company knows the line, such as a transaction or order id; `nil` where it could not be read.
    public let id: String?
    /// Where it could not be read, and tells of a delivery, the numbers of the line: one of them may be it.
    public let numbers: [String]
    /// What is wrong, in a sentence.
    public let text: String

    public init(line: Int, reason: RefusalReason, id: String?, numbers: [String] = [], text: String) {
        self.line = line
        self.reason = reason
        self.id = id
        self.numbers = numbers
        self.text = text
    }
}

/// What is wrong with a line.
package struct LineProblem: Error, Hashable {
    package let reason: RefusalReason
    package let text: String

    package init(_ reason: RefusalReason, _ text: String) {
        self.reason = reason
        self.text = text
    }

    package init(unknownApp bundleID: BundleID) {
        self.init(.unknownApp, "the configuration has no section [app \(bundleID)]")
    }
}
