import COpenSSL

/// Reads DER one element after another.
struct DERReader {
    struct Malformed: Error {}

    private var rest: ArraySlice<UInt8>

    init(_ bytes: ArraySlice<UInt8>) {
        rest = bytes
    }

    var isAtEnd: Bool { rest.isEmpty }

    /// The content of the next element, which must have this tag.
    mutating func next(_ tag: Int32, _ kind: Int32 = V_ASN1_UNIVERSAL) throws(Malformed) -> ArraySlice<UInt8> {
        let content: Range<Int>? = rest.withUnsafeBufferPointer { buffer in
            var position = buffer.baseAddress
            var (length, foundTag, foundKind) = (0, Int32(0), Int32(0))
            // The highest bit marks an error, the lowest an indefinite length.
            let form = ASN1_get_object(&position, &length, &foundTag, &foundKind, buffer.count)
            guard form & 0x81 == 0, foundTag == tag, foundKind == kind, let start = buffer.baseAddress, let position
            else { return nil }
            return position - start..<position - start + length
        }
        guard let content else {
            ERR_clear_error()
            throw Malformed()
        }
        defer { rest = rest.dropFirst(content.upperBound) }
        return rest.dropFirst(content.lowerBound).prefix(content.count)
    }

    /// The content of the next element, as a reader.
    mutating func open(_ tag: Int32) throws(Malformed) -> DERReader {
        DERReader(try next(tag))
    }

    /// As `open`, for tag 0 of the context, which all optional elements of a container have.
    mutating func openContext() throws(Malformed) -> DERReader {
        DERReader(try next(0, V_ASN1_CONTEXT_SPECIFIC))
    }

    mutating func integer() throws(Malformed) -> Int64 {
        let digits = try next(V_ASN1_INTEGER)
        guard (1...8).contains(digits.count), let first = digits.first else { throw Malformed() }
        return digits.reduce(first >= 0x80 ? -1 : 0) { $0 << 8 | Int64($1) }
    }

    mutating func text(_ tag: Int32) throws(Malformed) -> String {
        guard let text = String(validating: try next(tag), as: UTF8.self) else { throw Malformed() }
        return text
    }
}
