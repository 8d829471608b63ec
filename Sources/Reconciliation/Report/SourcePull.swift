/// What the latest pull of a source came to.
public struct SourcePull: Hashable, Sendable {
    /// As the configuration names it.
    public let name: String
    public var taken: Int
    public var alreadyThere: Int
    public var refused: Int
    /// Why it did not come to its end; `nil` if it did.
    public var problem: String?
    /// The first of the rows that could not be taken, in this pull or an earlier one, and are not mended yet.
    public var refusedRows: [RefusedRow]
    /// How many such rows there are.
    public var refusedLately: Int

    public init(
        name: String, taken: Int, alreadyThere: Int, refused: Int, problem: String? = nil,
        refusedRows: [RefusedRow] = [], refusedLately: Int = 0
    ) {
        self.name = name
        self.taken = taken
        self.alreadyThere = alreadyThere
        self.refused = refused
        self.problem = problem
        self.refusedRows = refusedRows
        self.refusedLately = refusedLately
    }
}

/// A row of a source that could not be taken.
public struct RefusedRow: Hashable, Sendable {
    /// What it is kept by: the id that it names, or where it stands in the source.
    public let id: String
    /// The id by which the company knows it: of a transaction, an original transaction, an order or a product; `nil` if
    /// that could not be read.
    public let namedID: String?
    /// The row's numbers, if that id could not be read and the row tells of a delivery: one of them may be the id.
    public let numbers: [String]
    public let reason: RefusalReason
    /// The same in a sentence.
    public let text: String

    public init(id: String, namedID: String?, numbers: [String] = [], reason: RefusalReason, text: String) {
        self.id = id
        self.namedID = namedID
        self.numbers = numbers
        self.reason = reason
        self.text = text
    }

    /// What is wrong, and with what, for a reader who sees its `id` beside it.
    public var what: String {
        guard let namedID, namedID != id else { return text }
        return "\(namedID): \(text)"
    }
}
