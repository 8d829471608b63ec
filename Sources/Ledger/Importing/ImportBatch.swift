public import Reconciliation

/// A line of a file that is imported, and what it says.
public struct ImportLine: Sendable {
    /// Counted from 1, the header included.
    public let number: Int
    public let row: ImportedRow

    public init(number: Int, row: ImportedRow) {
        self.number = number
        self.row = row
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
    /// The numbers of the lines that were left, since the ledger says otherwise.
    public let contradicted: [Int]

    init(of batch: ImportBatch, taken: Int, contradicted: [Int]) {
        self.taken = taken
        self.contradicted = contradicted
        alreadyThere = batch.lines.count - taken - contradicted.count
    }
}
