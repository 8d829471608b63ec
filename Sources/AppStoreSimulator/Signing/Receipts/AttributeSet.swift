import COpenSSL
import Foundation

/// A SET of attributes, each with a number, a version and a value, as in app receipts and the purchases in them.
struct AttributeSet {
    private var values: [(type: Int64, value: ArraySlice<UInt8>)] = []

    init() {}

    // MARK: Writing

    mutating func add(_ type: Int64, raw value: [UInt8]) {
        values.append((type, value[...]))
    }

    mutating func add(_ type: Int64, text: String) {
        add(type, V_ASN1_UTF8STRING, text)
    }

    mutating func add(_ type: Int64, number: Int64) {
        var writer = DERWriter()
        writer.add(integer: number)
        add(type, raw: writer.bytes)
    }

    /// Adds a date; without one, an empty text, as in Apple's receipts.
    mutating func add(_ type: Int64, date: Date?) {
        add(type, V_ASN1_IA5STRING, date.map { StoreDate($0).internetText } ?? "")
    }

    private mutating func add(_ type: Int64, _ tag: Int32, _ text: String) {
        var writer = DERWriter()
        writer.add(tag, text.utf8)
        add(type, raw: writer.bytes)
    }

    /// The attributes in a fixed order that is neither numerical nor chronological.
    var der: [UInt8] {
        let shuffled = values.map { (Mix.finish(StableHash.of($0.value) ^ UInt64($0.type)), $0) }.sorted { $0.0 < $1.0 }
        var set = DERWriter()
        set.add(V_ASN1_SET) {
            for (_, attribute) in shuffled {
                $0.add(V_ASN1_SEQUENCE) {
                    $0.add(integer: attribute.type)
                    $0.add(integer: 1)
                    $0.add(V_ASN1_OCTET_STRING, attribute.value)
                }
            }
        }
        return set.bytes
    }

    // MARK: Reading

    init(der: ArraySlice<UInt8>) throws(DERReader.Malformed) {
        var outer = DERReader(der)
        var set = try outer.open(V_ASN1_SET)
        while !set.isAtEnd {
            var attribute = try set.open(V_ASN1_SEQUENCE)
            let type = try attribute.integer()
            _ = try attribute.integer()
            values.append((type, try attribute.next(V_ASN1_OCTET_STRING)))
        }
    }

    /// The values of all attributes with this number, in order.
    func all(_ type: Int64) -> [ArraySlice<UInt8>] {
        values.filter { $0.type == type }.map(\.value)
    }

    func raw(_ type: Int64) throws(DERReader.Malformed) -> ArraySlice<UInt8> {
        guard let value = values.first(where: { $0.type == type })?.value else { throw DERReader.Malformed() }
        return value
    }

    func text(_ type: Int64) throws(DERReader.Malformed) -> String {
        var reader = DERReader(try raw(type))
        return try reader.text(V_ASN1_UTF8STRING)
    }

    func number(_ type: Int64) throws(DERReader.Malformed) -> Int64 {
        var reader = DERReader(try raw(type))
        return try reader.integer()
    }

    /// `nil` if the text is empty.
    func date(_ type: Int64) throws(DERReader.Malformed) -> Date? {
        var reader = DERReader(try raw(type))
        let text = try reader.text(V_ASN1_IA5STRING)
        guard !text.isEmpty else { return nil }
        guard let date = StoreDate(internetText: text)?.date else { throw DERReader.Malformed() }
        return date
    }
}
