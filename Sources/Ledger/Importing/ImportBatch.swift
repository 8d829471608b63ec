public import Reconciliation

/// A line of a file that is imported, or a row of a source, and what it says.
public struct ImportLine: Sendable {
    /// Counted from 1, the header included.
    public let number: Int
    public let row: ImportedRow
    /// The name by which the company knows it.
    public let name: String

    public init(number: Int, row: ImportedRow, name: String) {
        self.number = number
        self.row = row
        self.name = name
    }

    func refused(_ contradiction: Contradiction) -> RefusedRow {
        RefusedRow(id: name, namedID: row.id, reason: .contradiction, text: contradiction.text)
    }
}

/// What the ledger says against a line.
public enum Contradiction: String, Sendable, Hashable {
    case otherUser = "other_user"
    case otherOrder = "other_order"
    case otherApp = "other_app"
    /// Delivered by the company's own path, and again by a redelivery, of which that path's row tells too late.
    case redelivered

    /// In a sentence.
    public var text: String {
        switch self {
        case .otherUser: "this transaction was delivered to another user already"
        case .otherOrder: "this order is registered already, with another user, product or quantity"
        case .otherApp: "the ledger knows this transaction as one of another app's"
        case .redelivered: "it was delivered before a redelivery was taken and claimed: the user may have it twice"
        }
    }
}

/// Lines that are taken together: all of them, or none.
public struct ImportBatch: Sendable {
    public let kind: ImportKind
    public let lines: [ImportLine]

    public init(kind: ImportKind, lines: [ImportLine]) {
        self.kind = kind
        self.lines = lines
    }
}

/// What became of a batch: every line of it is taken, was there already, or contradicts what is there.
public struct ImportOutcome: Hashable, Sendable {
    public let taken: Int
    public let alreadyThere: Int
    /// What the ledger says against the lines that were left, by their numbers.
    public let contradicted: [Int: Contradiction]

    init(of batch: ImportBatch, taken: Int, contradicted: [Int: Contradiction]) {
        self.taken = taken
        self.contradicted = contradicted
        alreadyThere = batch.lines.count - taken - contradicted.count
    }
}
