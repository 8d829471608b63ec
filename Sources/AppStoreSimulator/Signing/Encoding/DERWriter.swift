import COpenSSL

/// Writes ASN.1 in DER form, from the outside in, as far as a receipt's content needs it.
struct DERWriter {
    private(set) var bytes: [UInt8] = []

    mutating func add(_ tag: Int32, _ content: some Collection<UInt8>) {
        bytes.append(UInt8(tag))
        addLength(content.count)
        bytes.append(contentsOf: content)
    }

    /// Adds an element of elements: a sequence or a set.
    mutating func add(_ tag: Int32, _ write: (inout DERWriter) -> Void) {
        var inner = DERWriter()
        write(&inner)
        add(tag | V_ASN1_CONSTRUCTED, inner.bytes)
    }

    /// Adds a number that is not negative.
    mutating func add(integer: Int64) {
        let digits = withUnsafeBytes(of: integer.bigEndian) { Array($0.drop { $0 == 0 }) }
        let needsZero = digits.first.map { $0 >= 0x80 } ?? true
        add(V_ASN1_INTEGER, needsZero ? [0] + digits : digits)
    }

    private mutating func addLength(_ length: Int) {
        guard length >= 0x80 else { return bytes.append(UInt8(length)) }
        let digits = withUnsafeBytes(of: UInt64(length).bigEndian) { Array($0.drop { $0 == 0 }) }
        bytes.append(0x80 | UInt8(digits.count))
        bytes.append(contentsOf: digits)
    }
}
