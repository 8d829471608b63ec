public import Foundation

/// A Swift value that can be read from a column.
public protocol ColumnValue {
    /// Reads the field; `nil` means NULL.
    init(field: Field?) throws(FieldProblem)
}

/// A field of a row in PostgreSQL's binary form, valid only during the call that it is passed to.
public struct Field {
    @usableFromInline let type: DatabaseType
    @usableFromInline let bytes: UnsafeRawBufferPointer

    @inlinable
    init(type: DatabaseType, bytes: UnsafeRawBufferPointer) {
        (self.type, self.bytes) = (type, bytes)
    }

    /// Reads a big-endian integer at an offset.
    @inlinable
    func integer<Number: FixedWidthInteger>(
        _ type: Number.Type = Number.self, at offset: Int = 0
    ) throws(FieldProblem) -> Number {
        guard offset >= 0, offset + MemoryLayout<Number>.size <= bytes.count else { throw .value }
        return Number(bigEndian: bytes.loadUnaligned(fromByteOffset: offset, as: Number.self))
    }
}

/// Why a field could not be read.
public enum FieldProblem: Error {
    /// It is NULL, but the Swift type has no NULL.
    case null
    /// The column has another type.
    case type
    /// The type is right, but the value is malformed, or beyond what the Swift type can hold.
    case value
}

extension Optional: ColumnValue where Wrapped: ColumnValue {
    @inlinable
    public init(field: Field?) throws(FieldProblem) {
        self = if let field { try Wrapped(field: field) } else { nil }
    }
}

extension Field? {
    /// The field, which must not be NULL and must be of one of the types.
    func required(_ types: DatabaseType...) throws(FieldProblem) -> Field {
        guard let field = self else { throw .null }
        guard types.contains(field.type) else { throw .type }
        return field
    }
}

extension String: ColumnValue {
    /// Reads text, json, enums and other types that are sent as text; the rest need a cast to text in the query.
    public init(field: Field?) throws(FieldProblem) {
        guard let field else { throw .null }
        self = try field.text()
    }
}

extension Field {
    func text() throws(FieldProblem) -> String {
        switch type {
        case .text, .varchar, .bpchar, .name, .json, .xml, .unknown: return try text(of: bytes)
        case .jsonb:
            // jsonb is text after a version byte.
            guard bytes.first == 1 else { throw .value }
            return try text(of: UnsafeRawBufferPointer(rebasing: bytes.dropFirst()))
        case let type where type.isUserDefined:
            guard !bytes.contains(0) else { throw .type }
            return try text(of: bytes)
        default: throw .type
        }
    }

    private func text(of bytes: UnsafeRawBufferPointer) throws(FieldProblem) -> String {
        guard let text = String(validating: bytes, as: UTF8.self) else { throw .value }
        return text
    }

    /// Reads any of the integer types; the value must fit.
    func wholeNumber<Number: FixedWidthInteger>() throws(FieldProblem) -> Number {
        let value: Int64 =
            switch type {
            case .int8: try integer()
            case .int4: Int64(try integer(Int32.self))
            case .int2: Int64(try integer(Int16.self))
            case .oid: Int64(try integer(UInt32.self))
            default: throw .type
            }
        guard let number = Number(exactly: value) else { throw .value }
        return number
    }
}

extension ColumnValue where Self: FixedWidthInteger {
    public init(field: Field?) throws(FieldProblem) {
        guard let field else { throw .null }
        self = try field.wholeNumber()
    }
}

extension Int: ColumnValue {}
extension Int64: ColumnValue {}
extension Int32: ColumnValue {}
extension Int16: ColumnValue {}

extension Bool: ColumnValue {
    public init(field: Field?) throws(FieldProblem) {
        self = try field.required(.bool).integer(UInt8.self) != 0
    }
}

extension Double: ColumnValue {
    public init(field: Field?) throws(FieldProblem) {
        let field = try field.required(.float8, .float4)
        self =
            field.type == .float8
            ? Double(bitPattern: try field.integer()) : Double(Float(bitPattern: try field.integer()))
    }
}

extension Data: ColumnValue {
    public init(field: Field?) throws(FieldProblem) { self = Data(try field.required(.bytea).bytes) }
}

extension UUID: ColumnValue {
    public init(field: Field?) throws(FieldProblem) {
        let field = try field.required(.uuid)
        guard field.bytes.count == 16 else { throw .value }
        self = UUID(uuid: field.bytes.loadUnaligned(as: uuid_t.self))
    }
}

extension Date: ColumnValue {
    /// Reads a `timestamptz`. ±infinity is not a date and is refused.
    public init(field: Field?) throws(FieldProblem) {
        let microseconds = try field.required(.timestamptz).integer(Int64.self)
        guard microseconds != .max, microseconds != .min else { throw .value }
        let since2001 = microseconds.subtractingReportingOverflow(Self.microsecondsFrom2000To2001)
        guard !since2001.overflow else { throw .value }
        self.init(timeIntervalSinceReferenceDate: Double(since2001.partialValue) / 1_000_000)
    }
}

/// An enum of texts or numbers is read as its raw value, which must be one of its cases.
extension ColumnValue where Self: RawRepresentable, RawValue: ColumnValue {
    @inlinable
    public init(field: Field?) throws(FieldProblem) {
        guard let value = Self(rawValue: try RawValue(field: field)) else { throw .value }
        self = value
    }
}
