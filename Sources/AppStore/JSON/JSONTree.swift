import Foundation

/// The values of a JSON text in their order, found in one pass. A value is decoded when it is read, and most of Apple's
/// never are.
final class JSONTree: Sendable {
    /// A value, or the name of an object's member, which precedes the member's value.
    struct Node: Sendable {
        enum Kind: UInt8 {
            case null, no, yes, number, text, escapedText, list, object
        }

        let kind: Kind
        /// The bytes of a number, or those between a text's quotes.
        let start: UInt32
        let end: UInt32
        /// The index after this node and everything in it.
        var next: UInt32

        var range: Range<Int> { Int(start)..<Int(end) }
    }

    let nodes: [Node]
    /// The text, followed by those of its names that are written with escapes, decoded.
    private let json: [UInt8]

    /// `nil` if the bytes are not one JSON object in UTF-8.
    init?(_ json: [UInt8]) {
        // yajl accepts overlong forms and halves of surrogate pairs.
        guard (try? UTF8Span(validating: json.span)) != nil,
            let parsed = json.withUnsafeBufferPointer(JSONParsing.parsed)
        else { return nil }
        self.nodes = parsed.nodes
        self.json = parsed.decodedNames.isEmpty ? json : json + parsed.decodedNames
    }

    /// The index of the value of an object's member; if several have the name, the first counts.
    func member(_ name: StaticString, of object: Int) -> Int? {
        let end = Int(nodes[object].next)
        return json.withUnsafeBytes { json in
            var place = object + 1
            while place < end {
                if Self.spells(name, json[nodes[place].range]) { return place + 1 }
                place = Int(nodes[place + 1].next)
            }
            return nil
        }
    }

    /// The text of a string; `nil` if it is not a string, or holds half a surrogate pair or a NUL, which no database
    /// takes.
    func string(at index: Int) -> String? {
        let node = nodes[index]
        switch node.kind {
        case .text:
            return json.withUnsafeBufferPointer {
                String(decoding: UnsafeBufferPointer(rebasing: $0[node.range]), as: UTF8.self)
            }
        case .escapedText:
            // yajl would put a question mark for half a surrogate pair, which would make an id that Apple never gave.
            let quoted = json[Int(node.start) - 1...Int(node.end)]
            let text = try? JSONDecoder().decode(String.self, from: Data(quoted))
            return text?.utf8.contains(0) == true ? nil : text
        case .null, .no, .yes, .number, .list, .object: return nil
        }
    }

    /// All digits of a number, however many.
    func number(at index: Int) -> String? {
        let digits = json[nodes[index].range]
        let text = String(decoding: digits, as: UTF8.self)
        guard digits.allSatisfy({ $0 <= UInt8(ascii: "9") && $0 != UInt8(ascii: ".") }) else {
            return Decimal(string: text).map { "\($0)" }
        }
        return text == "-0" ? "0" : text
    }

    private static func spells(_ name: StaticString, _ bytes: Slice<UnsafeRawBufferPointer>) -> Bool {
        guard bytes.count == name.utf8CodeUnitCount else { return false }
        guard let start = UnsafeRawBufferPointer(rebasing: bytes).baseAddress else { return true }
        return memcmp(start, name.utf8Start, name.utf8CodeUnitCount) == 0
    }
}
