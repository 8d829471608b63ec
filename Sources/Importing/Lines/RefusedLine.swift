public import Reconciliation

/// A line that was not taken. It holds nothing of the line but its id.
public struct RefusedLine: Hashable, Sendable {
    /// Where it begins, counted from 1, the header included.
    public let line: Int
    public let reason: RefusalReason
    /// The id by which the company knows the line, of a transaction or an order for example; `nil` if it could not be
    /// read.
    public let id: String?
    /// The numbers of the line, if it tells of a delivery but its id could not be read: one of them may be the id.
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
