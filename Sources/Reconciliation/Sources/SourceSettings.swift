public import Foundation

/// A query or a folder from which the night pulls what a company already has.
public struct SourceSettings: Sendable, Hashable {
    /// As the configuration names it, such as `delivered`.
    public var name: String
    public var kind: ImportKind
    public var origin: Origin

    /// Where the source's data is.
    public enum Origin: Sendable, Hashable {
        case query(SourceQuery)
        /// A folder in which a job of the company's drops files.
        case folder(String)
    }

    public init(name: String, kind: ImportKind, origin: Origin) {
        self.name = name
        self.kind = kind
        self.origin = origin
    }
}

/// A query of the company's own, in a database of its own.
public struct SourceQuery: Sendable, Hashable {
    /// A connection string, as libpq understands it.
    public var conninfo: String
    /// Gives the columns that an import of its kind has.
    public var text: String
    /// The column that grows with every row that is new or changed; `nil` if everything is read each night.
    public var watermark: String?
    /// How far behind the watermark a pull begins; `nil` for what is usual for its type.
    public var overlap: Overlap?
    /// Seconds that one statement may take.
    public var statementTimeout: TimeInterval

    /// How far back rows may not have been committed yet when later ones were read.
    public enum Overlap: Sendable, Hashable {
        /// Seconds, of a watermark that is a time.
        case time(TimeInterval)
        /// Of a watermark that is a number.
        case numbers(Int64)
    }

    public init(
        conninfo: String, text: String, watermark: String? = nil, overlap: Overlap? = nil,
        statementTimeout: TimeInterval = 300
    ) {
        self.conninfo = conninfo
        self.text = text
        self.watermark = watermark
        self.overlap = overlap
        self.statementTimeout = statementTimeout
    }
}
