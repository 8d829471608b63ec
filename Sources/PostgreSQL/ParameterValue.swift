public import Foundation

/// A Swift value that can be bound to a statement or copied into a column, in PostgreSQL's binary form.
public protocol ParameterValue: Sendable {
    /// The type that the server is told.
    static var databaseType: DatabaseType { get }
    /// Whether it stands for SQL's NULL.
    var isNull: Bool { get }
    /// Appends the binary form without its length. Not called for NULL.
    func write(to bytes: inout [UInt8])
}

/// A value that arrays may hold.
public protocol ArrayElement: ParameterValue {
    /// The type of an array of such values.
    static var arrayType: DatabaseType { get }
}

extension ParameterValue {
    public var isNull: Bool { false }
}

extension [UInt8] {
    /// Appends an integer in network byte order.
    mutating func append<Number: FixedWidthInteger>(bigEndian number: Number) {
        Swift.withUnsafeBytes(of: number.bigEndian) { append(contentsOf: $0) }
    }

    /// Appends a value preceded by its length, or the length -1 for NULL.
    mutating func append(field value: some ParameterValue) {
        guard !value.isNull else { return append(bigEndian: Int32(-1)) }
        let start = count
        append(bigEndian: Int32(0))
        value.write(to: &self)
        let length = Int32(truncatingIfNeeded: count - start - 4)
        withUnsafeMutableBytes { $0.storeBytes(of: length.bigEndian, toByteOffset: start, as: Int32.self) }
    }
}

extension String: ArrayElement {
    public static var databaseType: DatabaseType { .text }
    public static var arrayType: DatabaseType { .textArray }

    /// The server refuses a text with a NUL.
    public func write(to bytes: inout [UInt8]) { bytes.append(contentsOf: utf8) }
}

extension Bool: ArrayElement {
    public static var databaseType: DatabaseType { .bool }
    public static var arrayType: DatabaseType { .boolArray }

    public func write(to bytes: inout [UInt8]) { bytes.append(self ? 1 : 0) }
}

extension Int: ArrayElement {
    public static var databaseType: DatabaseType { .int8 }
    public static var arrayType: DatabaseType { .int8Array }

    public func write(to bytes: inout [UInt8]) { bytes.append(bigEndian: Int64(self)) }
}

extension Int64: ArrayElement {
    public static var databaseType: DatabaseType { .int8 }
    public static var arrayType: DatabaseType { .int8Array }

    public func write(to bytes: inout [UInt8]) { bytes.append(bigEndian: self) }
}

extension Int32: ArrayElement {
    public static var databaseType: DatabaseType { .int4 }
    public static var arrayType: DatabaseType { .int4Array }

    public func write(to bytes: inout [UInt8]) { bytes.append(bigEndian: self) }
}

extension Int16: ArrayElement {
    public static var databaseType: DatabaseType { .int2 }
    public static var arrayType: DatabaseType { .int2Array }

    public func write(to bytes: inout [UInt8]) { bytes.append(bigEndian: self) }
}

extension Double: ArrayElement {
    public static var databaseType: DatabaseType { .float8 }
    public static var arrayType: DatabaseType { .float8Array }

    public func write(to bytes: inout [UInt8]) { bytes.append(bigEndian: bitPattern) }
}

extension Data: ArrayElement {
    public static var databaseType: DatabaseType { .bytea }
    public static var arrayType: DatabaseType { .byteaArray }

    public func write(to bytes: inout [UInt8]) { bytes.append(contentsOf: self) }
}

extension UUID: ArrayElement {
    public static var databaseType: DatabaseType { .uuid }
    public static var arrayType: DatabaseType { .uuidArray }

    public func write(to bytes: inout [UInt8]) { Swift.withUnsafeBytes(of: uuid) { bytes.append(contentsOf: $0) } }
}

extension Date: ArrayElement {
    public static var databaseType: DatabaseType { .timestamptz }
    public static var arrayType: DatabaseType { .timestamptzArray }

    /// Rounds to the microsecond. A date beyond PostgreSQL's range becomes ±infinity; a date that is not a number is
    /// written as no bytes, which the server refuses.
    public func write(to bytes: inout [UInt8]) {
        let microseconds = (timeIntervalSinceReferenceDate * 1_000_000).rounded()
        guard !microseconds.isNaN else { return }
        let infinity = microseconds > 0 ? Int64.max : Int64.min
        let sum = Int64(exactly: microseconds)?.addingReportingOverflow(Self.microsecondsFrom2000To2001)
        bytes.append(bigEndian: sum.map { $0.overflow ? infinity : $0.partialValue } ?? infinity)
    }

    /// PostgreSQL counts from 2000-01-01, Foundation from 2001-01-01, both UTC.
    static var microsecondsFrom2000To2001: Int64 { 31_622_400_000_000 }
}

extension Optional: ParameterValue where Wrapped: ParameterValue {
    public static var databaseType: DatabaseType { Wrapped.databaseType }
    public var isNull: Bool { self?.isNull ?? true }

    public func write(to bytes: inout [UInt8]) { self?.write(to: &bytes) }
}

extension Optional: ArrayElement where Wrapped: ArrayElement {
    public static var arrayType: DatabaseType { Wrapped.arrayType }
}

extension Array: ParameterValue where Element: ArrayElement {
    public static var databaseType: DatabaseType { Element.arrayType }

    /// The header of a one-dimensional array (PostgreSQL's array_recv), then its elements.
    public func write(to bytes: inout [UInt8]) {
        bytes.append(bigEndian: Int32(isEmpty ? 0 : 1))
        bytes.append(bigEndian: Int32(contains(where: \.isNull) ? 1 : 0))
        bytes.append(bigEndian: Element.databaseType.oid)
        guard !isEmpty else { return }
        bytes.append(bigEndian: Int32(truncatingIfNeeded: count))
        bytes.append(bigEndian: Int32(1))
        for element in self { bytes.append(field: element) }
    }
}

/// An enum of texts or numbers is bound as its raw value.
extension ParameterValue where Self: RawRepresentable, RawValue: ParameterValue {
    public static var databaseType: DatabaseType { RawValue.databaseType }
    public var isNull: Bool { rawValue.isNull }

    public func write(to bytes: inout [UInt8]) { rawValue.write(to: &bytes) }
}
