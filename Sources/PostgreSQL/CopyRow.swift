import Foundation

/// The destination of copied rows. Names are quoted; a dot separates the schema from the table.
public struct CopyTarget: Sendable {
    /// Such as `iap.verified`.
    public let table: String
    /// The columns that each row has a value for, in that order.
    public let columns: [String]

    public init(table: String, columns: [String]) {
        self.table = table
        self.columns = columns
    }

    var sql: String {
        let names = columns.map(Identifier.quoted).joined(separator: ", ")
        return "COPY \(Identifier.quotedPath(table)) (\(names)) FROM STDIN (FORMAT binary)"
    }
}

/// Takes the values of one row in the order of the target's columns.
///
/// The server does not convert: a `smallint` column needs an `Int16`, an `integer` an `Int32`, a `bigint` an `Int`, an
/// enum a `String`; `jsonb` has its own `append(jsonb:)`.
public struct CopyRow {
    let columnCount: Int
    private(set) var count = 0
    var bytes: [UInt8] = []

    init(columnCount: Int) { self.columnCount = columnCount }

    /// Specialised for the types of most columns, since looking up a generic type costs more than copying.
    @specialized(where Value == String)
    @specialized(where Value == String?)
    @specialized(where Value == Int)
    @specialized(where Value == Int?)
    @specialized(where Value == Int32)
    @specialized(where Value == Int16)
    @specialized(where Value == Bool)
    @specialized(where Value == Date)
    @specialized(where Value == Date?)
    @specialized(where Value == [String])
    @specialized(where Value == [Int32])
    public mutating func append<Value: ParameterValue>(_ value: Value) {
        count += 1
        bytes.append(field: value)
    }

    /// SQL's NULL, whatever the column's type.
    public mutating func appendNull() {
        count += 1
        bytes.append(bigEndian: Int32(-1))
    }

    /// Appends JSON text for a `jsonb` column, with the version byte before it.
    public mutating func append(jsonb text: String?) {
        guard let text else { return appendNull() }
        count += 1
        bytes.append(bigEndian: Int32(truncatingIfNeeded: text.utf8.count + 1))
        bytes.append(1)
        bytes.append(contentsOf: text.utf8)
    }
}

/// The frame around the values (PostgreSQL's documentation of COPY, "Binary Format").
extension CopyRow {
    mutating func beginFile() {
        bytes.append(contentsOf: Array("PGCOPY\n".utf8) + [0xFF, 0x0D, 0x0A, 0x00])
        bytes.append(bigEndian: Int32(0))
        bytes.append(bigEndian: Int32(0))
    }

    mutating func begin() {
        count = 0
        bytes.append(bigEndian: Int16(truncatingIfNeeded: columnCount))
    }

    var isComplete: Bool { count == columnCount }

    mutating func endFile() { bytes.append(bigEndian: Int16(-1)) }
}
