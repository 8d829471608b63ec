/// What a person may decide on a case in the report's spreadsheet. The raw value is the word for programs.
public enum DeskDecision: String, Hashable, Sendable, CaseIterable {
    /// The goods were delivered by hand.
    case delivered
    /// The app's server shall deliver them, without the customer.
    case deliver
    /// Nothing is owed after all.
    case dismissed
    /// The money went back.
    case refunded
}

/// Which case a line of a report is of, and what it stood like when the report was written.
public struct CaseMark: Hashable, Sendable {
    public let key: TransactionKey
    /// As `iap.case_mark` gives it.
    public let standing: String

    public init(key: TransactionKey, standing: String) {
        self.key = key
        self.standing = standing
    }

    /// As a cell holds it: no id has a space, and no spreadsheet takes it for a number.
    public var text: String {
        [key.bundleID.text, key.environment.rawValue, key.id.text, standing].joined(separator: " ")
    }

    /// `nil` where the text is no case's.
    public init?(_ text: String) {
        let parts = text.split(separator: " ", omittingEmptySubsequences: false).map(String.init)
        guard parts.count == 4, let bundleID = BundleID(parts[0]), let environment = Environment(rawValue: parts[1]),
            let id = TransactionID(parts[2]), parts[3].utf8.count == 17,
            parts[3].utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F })
        else { return nil }
        self.init(key: TransactionKey(id: id, bundleID: bundleID, environment: environment), standing: parts[3])
    }
}

/// A line of a spreadsheet on which somebody decided.
public struct DecidedLine: Hashable, Sendable {
    /// Counted from 1, the headings included.
    public let number: Int
    public let mark: CaseMark
    public let decision: DeskDecision
    /// What was written beside it; empty where nothing was.
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
    /// Its mark is of no case of this database, or of one that was opened at another time.
    case anotherReport = "another_report"
    /// Other evidence came since the report was written, or the decision was taken back.
    case changedSince = "changed_since"
    case alreadyDelivered = "already_delivered"
    case excluded
    /// Evidence speaks for several users, and a line names none.
    case severalOwners = "several_owners"
    /// It is not certain whose it is, so that nothing is delivered without the customer.
    case ownerUncertain = "owner_uncertain"
    /// Another session held the case for too long.
    case busy

    // What the file says
    case malformed
    case notText = "not_text"
    case formula
    /// The line says no case.
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

/// By which words a spreadsheet's columns and decisions are known, in whatever language.
public struct DecisionVocabulary: Sendable {
    /// What a decision is read from.
    public enum Column: Hashable, Sendable, CaseIterable {
        case mark, decision, note
        /// Only compared with the mark.
        case transaction
    }

    private let columns: [String: Column]
    private let decisions: [String: DeskDecision]

    /// - Parameters:
    ///   - columns: headings, whose case doesn't matter.
    ///   - decisions: words for decisions, whose case doesn't matter; those for programs are known anyway.
    public init(columns: [(String, Column)], decisions: [(String, DeskDecision)]) {
        self.columns = Dictionary(columns.map { ($0.lowercased(), $1) }, uniquingKeysWith: { first, _ in first })
        self.decisions = Dictionary(
            (DeskDecision.allCases.map { ($0.rawValue, $0) } + decisions).map { ($0.lowercased(), $1) },
            uniquingKeysWith: { first, _ in first })
    }

    public func column(_ heading: String) -> Column? { columns[heading.lowercased()] }
    public func decision(_ word: String) -> DeskDecision? { decisions[word.lowercased()] }
}
