/// Reads DER one element after another. What the simulator wrote has definite lengths and one-byte tags alone.
struct DERReader {
    struct Malformed: Error {}

    private var rest: ArraySlice<UInt8>

    init(_ bytes: ArraySlice<UInt8>) {
        rest = bytes
    }

    var isAtEnd: Bool { rest.isEmpty }

    /// The content of the next element, which must have this tag.
    mutating func next(_ tag: UInt8) throws(Malformed) -> ArraySlice<UInt8> {
        guard rest.popFirst() == tag, let first = rest.popFirst() else { throw Malformed() }
        var length = Int(first)
        if first >= 0x80 {
            let digits = rest.prefix(Int(first & 0x7F))
            guard (1...4).contains(digits.count) else { throw Malformed() }
            length = digits.reduce(0) { $0 << 8 | Int($1) }
            rest = rest.dropFirst(digits.count)
        }
        guard length <= rest.count else { throw Malformed() }
        let content = rest.prefix(length)
        rest = rest.dropFirst(length)
        return content
    }

    /// What the next element contains, to be read in turn.
    mutating func open(_ tag: UInt8) throws(Malformed) -> DERReader {
        DERReader(try next(tag))
    }

    mutating func integer() throws(Malformed) -> Int64 {
        let digits = try next(DERWriter.Tag.integer)
        guard (1...8).contains(digits.count), let first = digits.first else { throw Malformed() }
        return digits.reduce(first >= 0x80 ? -1 : 0) { $0 << 8 | Int64($1) }
    }

    mutating func text(_ tag: UInt8) throws(Malformed) -> String {
        guard let text = String(validating: try next(tag), as: UTF8.self) else { throw Malformed() }
        return text
    }
}
