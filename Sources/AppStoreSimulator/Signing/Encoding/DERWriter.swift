/// ASN.1 in DER form, written from the outside in.
struct DERWriter {
    enum Tag {
        static let boolean: UInt8 = 0x01
        static let integer: UInt8 = 0x02
        static let bitString: UInt8 = 0x03
        static let octetString: UInt8 = 0x04
        static let null: UInt8 = 0x05
        static let objectIdentifier: UInt8 = 0x06
        static let utf8String: UInt8 = 0x0C
        static let ia5String: UInt8 = 0x16
        static let utcTime: UInt8 = 0x17
        static let generalizedTime: UInt8 = 0x18
        static let sequence: UInt8 = 0x30
        static let set: UInt8 = 0x31

        /// Context-specific, primitive or constructed.
        static func context(_ number: UInt8, isConstructed: Bool = true) -> UInt8 {
            (isConstructed ? 0xA0 : 0x80) | number
        }
    }

    private(set) var bytes: [UInt8] = []

    static func sequence(_ write: (inout DERWriter) -> Void) -> [UInt8] {
        var writer = DERWriter()
        writer.add(Tag.sequence, write)
        return writer.bytes
    }

    /// What is DER already.
    mutating func add(encoded: some Sequence<UInt8>) {
        bytes.append(contentsOf: encoded)
    }

    mutating func add(_ tag: UInt8, _ content: some Collection<UInt8>) {
        bytes.append(tag)
        addLength(content.count)
        bytes.append(contentsOf: content)
    }

    mutating func add(_ tag: UInt8, _ write: (inout DERWriter) -> Void) {
        var inner = DERWriter()
        write(&inner)
        add(tag, inner.bytes)
    }

    mutating func addNull() { add(Tag.null, []) }

    mutating func add(integer: Int64) {
        add(integerBytes: withUnsafeBytes(of: UInt64(bitPattern: integer).bigEndian, Array.init))
    }

    /// A number without sign; the highest byte comes first.
    mutating func add(integerBytes: [UInt8]) {
        let digits = integerBytes.drop { $0 == 0 }
        let needsZero = digits.first.map { $0 >= 0x80 } ?? true
        add(Tag.integer, (needsZero ? [0] : []) + Array(digits))
    }

    mutating func add(bits: [UInt8]) {
        add(Tag.bitString, [0] + bits)
    }

    /// An object identifier in dotted form, such as `1.2.840.113549.1.7.2`.
    mutating func add(identifier: String) {
        let parts = identifier.split(separator: ".").compactMap { UInt64($0) }
        precondition(parts.count >= 2, "an object identifier has two parts at least")
        var content: [UInt8] = [UInt8(parts[0] * 40 + parts[1])]
        for part in parts.dropFirst(2) { content += Self.base128(part) }
        add(Tag.objectIdentifier, content)
    }

    private static func base128(_ number: UInt64) -> [UInt8] {
        var groups = [UInt8(number & 0x7F)]
        var rest = number >> 7
        while rest > 0 {
            groups.append(UInt8(rest & 0x7F) | 0x80)
            rest >>= 7
        }
        return groups.reversed()
    }

    private mutating func addLength(_ length: Int) {
        guard length >= 0x80 else { return bytes.append(UInt8(length)) }
        let digits = withUnsafeBytes(of: UInt64(length).bigEndian) { Array($0.drop { $0 == 0 }) }
        bytes.append(0x80 | UInt8(digits.count))
        bytes.append(contentsOf: digits)
    }
}
