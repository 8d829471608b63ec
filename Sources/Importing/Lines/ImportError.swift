public import Reconciliation

/// Why a file can't be imported, or the rest of it: nothing that stands after the lines that were read before was taken.
public enum ImportError: ForeseenError, Hashable, Sendable {
    case unreadable(file: String, why: String)
    /// It is a CSV file without a line.
    case noHeader(file: String)
    /// The header's line is not CSV, or not text.
    case badHeader(file: String, why: String)
    /// The header names a column that this kind of line doesn't have; `known` are those that it has.
    case unknownColumn(String, kind: ImportKind, known: [String])
    case repeatedColumn(String)
    case missingColumns([String], kind: ImportKind)
    /// The header's columns are wrong; the inner error doesn't name the file.
    indirect case badColumns(file: String, ImportError)
}

extension ImportError {
    public var exitCode: ExitCode { .dataError }

    /// Why the file can't be imported, and what to do.
    public var description: String {
        switch self {
        case .unreadable(let file, let why): "\(file) can't be read: \(why)"
        case .noHeader(let file): "\(file) is empty: a CSV file begins with a header that names its columns"
        case .badHeader(let file, let why): "the header of \(file) \(why)"
        case .unknownColumn(let name, let kind, let known):
            "\(kind.rawValue) have no column “\(name.prefix(100))”; they may have \(known.joined(separator: ", "))"
        case .repeatedColumn(let name): "the column “\(name)” is there twice"
        case .badColumns(let file, let why): "\(file): \(why.description)"
        case .missingColumns(let names, let kind):
            "\(kind.rawValue) need the column\(names.count == 1 ? "" : "s") \(names.joined(separator: ", "))"
        }
    }
}
