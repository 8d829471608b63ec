/// A statement and the values bound to it. Interpolated values become parameters, never pieces of the text:
///
///     let due: SQL = "SELECT payload FROM iap.receipts WHERE bucket = \(bucket)"
///
/// A piece of SQL interpolated into another keeps its own values. Values are sent as the PostgreSQL type that belongs
/// to the Swift type, so an enum or jsonb column needs a cast: `\(source)::iap.source`.
public struct SQL: Sendable, ExpressibleByStringLiteral, ExpressibleByStringInterpolation {
    enum Segment: Sendable {
        case text(String)
        case value(BoundValue)
    }

    private(set) var segments: [Segment]

    public init(stringLiteral value: String) { segments = [.text(value)] }

    public init(stringInterpolation: StringInterpolation) { segments = stringInterpolation.segments }

    /// Makes SQL from a string that was not written in this program. Nothing in it is escaped.
    public init(unsafe text: String) { segments = [.text(text)] }

    /// Adds another statement's text and values at the end.
    public mutating func append(_ other: SQL) { segments += other.segments }

    /// Concatenates both, with nothing between them.
    public static func + (left: SQL, right: SQL) -> SQL {
        var sum = left
        sum.append(right)
        return sum
    }

    /// Adds a statement at the end of another.
    public static func += (left: inout SQL, right: SQL) { left.append(right) }

    /// Collects the pieces of an interpolated statement.
    public struct StringInterpolation: StringInterpolationProtocol {
        var segments: [Segment] = []

        public init(literalCapacity: Int, interpolationCount: Int) {
            segments.reserveCapacity(interpolationCount * 2 + 1)
        }

        public mutating func appendLiteral(_ literal: String) { segments.append(.text(literal)) }

        /// Binds the value to the next `$n`.
        public mutating func appendInterpolation(_ value: some ParameterValue) {
            segments.append(.value(BoundValue(value)))
        }

        /// Binds the value, or NULL, to the next `$n`.
        public mutating func appendInterpolation<Value: ParameterValue>(_ value: Value?) {
            segments.append(.value(BoundValue(value)))
        }

        /// Inserts another statement together with its values.
        public mutating func appendInterpolation(_ fragment: SQL) { segments += fragment.segments }

        /// Inserts a quoted name of a table, column, schema or role.
        public mutating func appendInterpolation(identifier name: String) {
            segments.append(.text(Identifier.quoted(name)))
        }

        /// Inserts text as SQL, unescaped.
        public mutating func appendInterpolation(unsafe text: String) { segments.append(.text(text)) }
    }
}

extension SQL: CustomStringConvertible {
    /// The text with `$1`, `$2` … for the values, and the values in that order.
    func rendered() -> (text: String, values: [BoundValue]) {
        var text = ""
        var values: [BoundValue] = []
        for segment in segments {
            switch segment {
            case .text(let piece): text += piece
            case .value(let value):
                values.append(value)
                text += "$\(values.count)"
            }
        }
        return (text, values)
    }

    /// The text with its `$n`, without the values.
    public var description: String { rendered().text }
}

/// A value in PostgreSQL's binary form; `nil` in `bytes` is SQL's NULL.
struct BoundValue: Sendable {
    let type: DatabaseType
    let bytes: [UInt8]?

    init<Value: ParameterValue>(_ value: Value) {
        type = Value.databaseType
        guard !value.isNull else {
            bytes = nil
            return
        }
        var bytes: [UInt8] = []
        value.write(to: &bytes)
        self.bytes = bytes
    }
}

enum Identifier {
    /// The name in double quotes, in which only the quote itself has a meaning.
    static func quoted(_ name: String) -> String {
        "\"" + name.split(separator: "\"", omittingEmptySubsequences: false).joined(separator: "\"\"") + "\""
    }

    /// `schema.table` with each part quoted.
    static func quotedPath(_ path: String) -> String {
        path.split(separator: ".", omittingEmptySubsequences: false).map { quoted(String($0)) }.joined(separator: ".")
    }
}
