public import Reconciliation

/// Why a file can't be imported at all. Nothing of it was taken.
public enum ImportError: Error, Sendable {
    case unreadable(file: String, why: String)
    /// It is a CSV file without a line.
    case noHeader(file: String)
    /// The header's line is no CSV, or no text.
    case badHeader(file: String, why: String)
    /// The header names a column that this kind of line has not; `known` are those that it has.
    case unknownColumn(String, kind: ImportKind, known: [String])
    case repeatedColumn(String)
    case missingColumns([String], kind: ImportKind)
}
