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
    /// By which the company knows it: its id, otherwise where it stands.
    public let id: String
    /// In a word, such as `bad_value`.
    public let reason: String
    /// In a sentence.
    public let text: String

    public init(id: String, reason: String, text: String) {
        self.id = id
        self.reason = reason
        self.text = text
    }
}
