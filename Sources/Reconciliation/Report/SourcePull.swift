/// What the latest pull of a source came to.
public struct SourcePull: Hashable, Sendable {
    /// As the configuration names it.
    public let name: String
    public var taken: Int
    public var alreadyThere: Int
    public var refused: Int
    /// Why it did not come to its end; `nil` where it did.
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
    /// By which it is kept: the id that it names, or where it stands.
    public let id: String
    /// By which the company knows it: the id of a transaction, an original transaction, an order or a product that it
    /// names; `nil` where that could not be read.
    public let namedID: String?
    /// Where it could not, and the row tells of a delivery, its numbers: one of them may be that id.
    public let numbers: [String]
    /// In a word, such as `bad_value`.
    public let reason: String
    /// In a sentence.
    public let text: String

    public init(id: String, namedID: String?, numbers: [String] = [], reason: String, text: String) {
        self.id = id
        self.namedID = namedID
        self.numbers = numbers
        self.reason = reason
        self.text = text
    }

    /// What is wrong, and with what, for whoever sees its `id` beside it.
    public var what: String {
        guard let namedID, namedID != id else { return text }
        return "\(namedID): \(text)"
    }
}
