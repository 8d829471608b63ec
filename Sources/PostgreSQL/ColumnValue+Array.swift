extension Array: ColumnValue where Element: ColumnValue & ArrayElement {
    /// Reads a one-dimensional array (PostgreSQL's array_send).
    @inlinable
    public init(field: Field?) throws(FieldProblem) {
        guard let field else { throw .null }
        guard field.type == Element.arrayType || field.type.isUserDefined || field.type.isTextArray else { throw .type }
        let dimensions: Int32 = try field.integer()
        let elementType = DatabaseType(oid: try field.integer(at: 8))
        self = []
        guard dimensions > 0 else { return }
        guard dimensions == 1 else { throw .value }
        let count: Int32 = try field.integer(at: 12)
        var offset = 20
        for _ in 0..<count {
            append(try Self.element(of: field, type: elementType, at: &offset))
        }
    }

    @inlinable
    static func element(
        of field: Field, type: DatabaseType, at offset: inout Int
    ) throws(FieldProblem) -> Element {
        let length = Int(try field.integer(Int32.self, at: offset))
        offset += 4
        guard length >= 0 else { return try Element(field: nil) }
        guard offset + length <= field.bytes.count else { throw .value }
        defer { offset += length }
        let bytes = UnsafeRawBufferPointer(rebasing: field.bytes[offset..<offset + length])
        return try Element(field: Field(type: type, bytes: bytes))
    }
}

extension DatabaseType {
    /// Whether it is character varying[] or name[], whose elements are sent as those of text[] are.
    @usableFromInline var isTextArray: Bool { oid == 1015 || oid == 1003 }
}
