public import Reconciliation

/// How decisions are written in a report's spreadsheet, and what became of them in a file beside it.
public struct DecisionForm: Sendable {
    package let vocabulary: DecisionVocabulary
    /// Makes a line of CSV from cells.
    package let line: @Sendable ([String]) -> String

    public init(vocabulary: DecisionVocabulary, line: @escaping @Sendable ([String]) -> String) {
        self.vocabulary = vocabulary
        self.line = line
    }
}

/// The folder whose files a night takes.
public struct DecisionFolder: Sendable {
    public var path: String
    /// How the support desk reaches the database; `nil` if it is the job's own way.
    public var database: String?
    public var form: DecisionForm

    public init(path: String, database: String?, form: DecisionForm) {
        self.path = path
        self.database = database
        self.form = form
    }
}
