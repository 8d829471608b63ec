public import Reconciliation

/// Why decisions can't be read from a file. Nothing of it was carried out.
public enum DecisionFileError: ForeseenError, Sendable {
    case unreadable(file: String, why: String)
    /// What is taken has no folder to move to.
    case unwritable(folder: String, why: String)
    /// The program that reads spreadsheets is not installed.
    case converterMissing(file: String)
    case notAReport(file: String, lacking: [DecisionVocabulary.Column])
    case repeatedColumns(file: String, [DecisionVocabulary.Column])
}

extension DecisionFileError {
    public var exitCode: ExitCode { .dataError }

    public var description: String {
        switch self {
        case .unreadable(let file, let why): "\(file) can't be read: \(why)"
        case .unwritable(let folder, let why): "\(folder) can't be written: \(why)"
        case .converterMissing(let file):
            "\(file) is a spreadsheet, and reading it needs xlsx2csv: install Debian's package xlsx2csv, or save it as CSV "
                + "UTF-8"
        case .notAReport(let file, let lacking):
            "\(file) is no report's list of cases: its first line, or its first sheet's, lacks the "
                + (lacking.count == 1 ? "column " : "columns ") + lacking.map(\.name).joined(separator: " and ")
        case .repeatedColumns(let file, let columns):
            "\(file) has the " + (columns.count == 1 ? "column " : "columns ")
                + columns.map(\.name).joined(separator: " and ") + " more than once; keep the report's own"
        }
    }
}

extension DecisionVocabulary.Column {
    /// The column as the CSV file calls it.
    fileprivate var name: String {
        switch self {
        case .mark: "“case”"
        case .decision: "“decision”"
        case .note: "“note”"
        case .transaction: "“transaction_id”"
        }
    }
}
