/// A line of a spreadsheet on which somebody decided.
public struct DecidedLine: Hashable, Sendable {
    /// Counted from 1, the headings included.
    public let number: Int
    public let mark: CaseMark
    public let decision: DeskDecision
    /// What was written beside it; empty if nothing was.
    public let note: String

    public init(number: Int, mark: CaseMark, decision: DeskDecision, note: String) {
        self.number = number
        self.mark = mark
        self.decision = decision
        self.note = note
    }
}

/// What became of a decided line.
public enum DecisionOutcome: Hashable, Sendable {
    case done
    /// Somebody decided the same before.
    case already
    case refused(DecisionRefusal)
}

/// Why a line's decision was not carried out. The raw value is the word for programs.
public enum DecisionRefusal: String, Hashable, Sendable, CaseIterable {
    // What the ledger says
    /// Its mark is of no case in this database, or of one that was opened at another time.
    case anotherReport = "another_report"
    /// Other evidence came since the report was written, or the decision was taken back.
    case changedSince = "changed_since"
    case alreadyDelivered = "already_delivered"
    case excluded
    /// Evidence speaks for several users, and a line names none.
    case severalOwners = "several_owners"
    /// It is not certain whose it is, so nothing is delivered without the customer.
    case ownerUncertain = "owner_uncertain"
    /// Another session held the case for too long.
    case busy

    // What the file says
    /// The line is no CSV, or nothing ends it, so that its decision may be cut.
    case malformed
    /// The line is not UTF-8.
    case notText = "not_text"
    /// A cell is a formula.
    case formula
    /// The line names no case.
    case noCase = "no_case"
    /// The line's transaction is not its case's.
    case otherTransaction = "other_transaction"
    case unknownWord = "unknown_word"
    /// There is a note and no decision.
    case noDecision = "no_decision"
    case tooLong = "too_long"
    /// Another line of the file decides otherwise on the same case.
    case contradiction
}
