/// An old-style property list, the format of iOS 6 style receipts: one dictionary of strings.
///
/// Reads exactly that: `{ "key" = "value"; }`. Comments, arrays, data and nested dictionaries have never been seen in a
/// receipt, so they are refused rather than skipped.
struct PropertyList {
    struct Entry {
        let value: [UInt8]
        /// Where the entry begins.
        let position: Int
    }

    /// More than any real list has: a receipt's have thirty at most. One of the largest accepted size could hold two
    /// million, which would take hundreds of megabytes to remember.
    static let most = 1000

    let entries: [String: Entry]

    /// - Throws: `payloadMalformed` with the first byte that breaks the format, also for a repeated key and for more
    ///   entries than `most`; `truncated` if the list ends too early.
    init(_ bytes: [UInt8]) throws(ReceiptError) {
        var parser = Parser(bytes: bytes)
        entries = try parser.dictionary()
    }

    /// The value as text.
    func text(_ key: String) throws(ReceiptError) -> String? {
        guard let entry = entries[key] else { return nil }
        guard let text = String(validating: entry.value, as: UTF8.self) else {
            throw .payloadMalformed(position: entry.position)
        }
        return text
    }

    /// The octets that the value encodes in base64.
    func data(_ key: String) throws(ReceiptError) -> [UInt8]? {
        guard let entry = entries[key] else { return nil }
        do { return try Base64Text.decoded(entry.value) } catch {
            throw .payloadMalformed(position: entry.position)
        }
    }

    /// Before one of its two keys a receipt has three short entries at most. To look for them in all of the largest
    /// upload that is accepted could take many seconds.
    private static let beginning = 4096

    /// Whether the text may be such a receipt, complete or not: its beginning names one of its two keys.
    static func mayBegin(_ text: [UInt8]) -> Bool {
        let text = String(decoding: text.prefix(beginning), as: UTF8.self)
        return text.contains("\"purchase-info\"") || text.contains("\"signature\"")
    }
}

private struct Parser {
    let bytes: [UInt8]
    var position = 0

    init(bytes: [UInt8]) {
        self.bytes = bytes
    }

    mutating func dictionary() throws(ReceiptError) -> [String: PropertyList.Entry] {
        var entries: [String: PropertyList.Entry] = [:]
        try expect(UInt8(ascii: "{"))
        while try peek() != UInt8(ascii: "}") {
            let start = position
            guard entries.count < PropertyList.most, let key = String(validating: try string(), as: UTF8.self),
                entries[key] == nil
            else { throw .payloadMalformed(position: start) }
            try expect(UInt8(ascii: "="))
            let value = try string()
            try expect(UInt8(ascii: ";"))
            entries[key] = PropertyList.Entry(value: value, position: start)
        }
        try expect(UInt8(ascii: "}"))
        skipSpace()
        guard position == bytes.count else { throw .payloadMalformed(position: position) }
        return entries
    }

    /// A string in quotes, or a word without quotes.
    private mutating func string() throws(ReceiptError) -> [UInt8] {
        guard try peek() == UInt8(ascii: "\"") else { return try word() }
        position += 1
        var string: [UInt8] = []
        while position < bytes.count {
            let byte = bytes[position]
            position += 1
            switch byte {
            case UInt8(ascii: "\""): return string
            case UInt8(ascii: "\\"): string.append(try escaped())
            default: string.append(byte)
            }
        }
        throw .truncated
    }

    private mutating func escaped() throws(ReceiptError) -> UInt8 {
        guard position < bytes.count else { throw .truncated }
        defer { position += 1 }
        switch bytes[position] {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"): return bytes[position]
        case UInt8(ascii: "n"): return UInt8(ascii: "\n")
        case UInt8(ascii: "t"): return UInt8(ascii: "\t")
        default: throw .payloadMalformed(position: position)
        }
    }

    private mutating func word() throws(ReceiptError) -> [UInt8] {
        let word = bytes[position...].prefix(while: Self.isWord)
        guard !word.isEmpty else { throw .payloadMalformed(position: position) }
        position += word.count
        return Array(word)
    }

    private static func isWord(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "a")...UInt8(ascii: "z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "."), UInt8(ascii: "_"):
            true
        default: false
        }
    }

    private mutating func expect(_ byte: UInt8) throws(ReceiptError) {
        guard try peek() == byte else { throw .payloadMalformed(position: position) }
        position += 1
    }

    /// The next byte that is no white space.
    private mutating func peek() throws(ReceiptError) -> UInt8 {
        skipSpace()
        guard position < bytes.count else { throw .truncated }
        return bytes[position]
    }

    private mutating func skipSpace() {
        while position < bytes.count, Base64Text.isSpace(bytes[position]) { position += 1 }
    }
}
