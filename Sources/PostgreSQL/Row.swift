/// One row of a result, copied out of libpq: it may be kept and passed to other tasks.
///
/// Reading a field can be inlined: a report reads millions of fields, and looking up a generic type for each costs more
/// than reading it.
public struct Row: Sendable {
    @usableFromInline let columns: Columns
    /// The bytes of all fields, one after another.
    @usableFromInline let bytes: [UInt8]
    /// Where each field ends in `bytes`; for NULL, the complement of that.
    @usableFromInline let ends: [Int32]

    init(columns: Columns, bytes: [UInt8], ends: [Int32]) {
        (self.columns, self.bytes, self.ends) = (columns, bytes, ends)
    }

    /// Decodes the value of a column, by its name in the result.
    /// - Throws: a `.decoding` error that names the column and both types: a wrong type, an unexpected NULL, or no
    ///   such column.
    @inlinable
    public func decode<Value: ColumnValue>(
        _ column: String, as type: Value.Type = Value.self
    ) throws(PostgreSQLError) -> Value {
        guard let index = columns.indexes[column] else { throw .missing(column, among: columns.names) }
        return try decode(at: index)
    }

    /// Short for `decode`: `try row("user_id", as: String.self)`.
    @inlinable
    public func callAsFunction<Value: ColumnValue>(
        _ column: String, as type: Value.Type = Value.self
    ) throws(PostgreSQLError) -> Value {
        try decode(column)
    }

    /// The names of the columns, in order.
    public var columnNames: [String] { columns.names }

    @inlinable
    func decode<Value: ColumnValue>(at index: Int) throws(PostgreSQLError) -> Value {
        do throws(FieldProblem) {
            return try field(at: index)
        } catch {
            throw .undecodable(columns.names[index], columns.types[index], as: Value.self, error)
        }
    }

    @inlinable
    func field<Value: ColumnValue>(at index: Int) throws(FieldProblem) -> Value {
        let end = ends[index]
        guard end >= 0 else { return try Value(field: nil) }
        let start = index == 0 ? 0 : ends[index - 1]
        let range = Int(start < 0 ? ~start : start)..<Int(end)
        let type = columns.types[index]
        return try bytes.withUnsafeBufferPointer { all throws(FieldProblem) -> Value in
            let bytes = UnsafeRawBufferPointer(UnsafeBufferPointer(rebasing: all[range]))
            return try Value(field: Field(type: type, bytes: bytes))
        }
    }
}

/// The columns of a result, looked up once for all its rows.
@usableFromInline
final class Columns: Sendable {
    @usableFromInline let names: [String]
    @usableFromInline let types: [DatabaseType]
    @usableFromInline let indexes: [String: Int]

    init(names: [String], types: [DatabaseType]) {
        self.names = names
        self.types = types
        indexes = Dictionary(zip(names, 0...)) { first, _ in first }
    }
}

extension PostgreSQLError {
    @usableFromInline
    static func missing(_ column: String, among names: [String]) -> PostgreSQLError {
        PostgreSQLError(
            .decoding, "There is no column \"\(column)\" in the result; it has \(names.joined(separator: ", ")).",
            column: column)
    }

    @usableFromInline
    static func undecodable<Value>(
        _ column: String, _ type: DatabaseType, as wanted: Value.Type, _ problem: FieldProblem
    ) -> PostgreSQLError {
        let why =
            switch problem {
            case .null: "it is NULL"
            case .type: "the types differ"
            case .value: "its value does not fit"
            }
        let text = "Column \"\(column)\", \(type), can't be read as \(wanted): \(why)."
        return PostgreSQLError(.decoding, text, column: column)
    }
}
