import CPostgreSQL

/// A statement as libpq takes it: text, and values in binary form one after another.
struct Statement {
    let text: String
    private let types: [Oid]
    private let lengths: [Int32]
    private let offsets: [Int?]
    private let bytes: [UInt8]

    init(_ sql: SQL) throws(PostgreSQLError) {
        let (text, values) = sql.rendered()
        guard values.count <= Int(UInt16.max) else {
            throw PostgreSQLError(
                .usage, "A statement takes at most 65,535 values, not \(values.count).",
                hint: "Bind an array and use unnest.")
        }
        self.text = try Self.checked(text)
        types = values.map(\.type.oid)
        lengths = values.map { Int32(truncatingIfNeeded: $0.bytes?.count ?? 0) }
        var bytes: [UInt8] = []
        var offsets: [Int?] = []
        for value in values {
            offsets.append(value.bytes == nil ? nil : bytes.count)
            bytes += value.bytes ?? []
        }
        // An empty value needs an address too: to libpq a null pointer is NULL.
        self.bytes = bytes + [0]
        self.offsets = offsets
    }

    /// Returns the text, which libpq would silently cut short at a NUL.
    static func checked(_ text: String) throws(PostgreSQLError) -> String {
        guard !text.utf8.contains(0) else { throw PostgreSQLError(.usage, "The SQL holds a NUL character.") }
        return text
    }

    func send(on handle: OpaquePointer) -> Int32 {
        bytes.withUnsafeBytes { bytes in
            let values = offsets.map { offset in
                offset.flatMap { bytes.baseAddress?.advanced(by: $0).assumingMemoryBound(to: CChar.self) }
            }
            let formats = [Int32](repeating: 1, count: values.count)
            return PQsendQueryParams(handle, text, Int32(values.count), types, values, lengths, formats, 1)
        }
    }
}
