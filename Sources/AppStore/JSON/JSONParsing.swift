private import CYajl

/// Notes where each token of a text is, as yajl finds it.
struct JSONParsing {
    /// How deeply lists and objects may be nested.
    private static let depthLimit = 512
    private static let quote = UInt8(ascii: "\"")

    private let json: UnsafeBufferPointer<UInt8>
    private var nodes: [JSONTree.Node] = []
    /// The decoded forms of the names that are written with escapes, one after another. They are decoded once, as a
    /// name is compared often. yajl writes a question mark for half a surrogate pair, but no name that is asked for has
    /// one.
    private var decodedNames: [UInt8] = []
    /// The lists and objects that are not closed yet.
    private var open: [Int] = []
    private var parser: yajl_handle?
    /// The position after the last token.
    private var end = 0

    private init(_ json: UnsafeBufferPointer<UInt8>) { self.json = json }

    /// The nodes of the text; `nil` if it is not one object, or is nested too deeply.
    static func parsed(_ json: UnsafeBufferPointer<UInt8>) -> (nodes: [JSONTree.Node], decodedNames: [UInt8])? {
        // Nodes hold 32-bit positions. The decoded names follow the text, so the text may take half of that range.
        guard Int32(exactly: json.count) != nil else { return nil }
        var parsing = JSONParsing(json)
        let isParsed = withUnsafeMutablePointer(to: &parsing) { parsing in
            withUnsafePointer(to: callbacks) { parse(json, into: parsing, $0) }
        }
        return isParsed ? (parsing.nodes, parsing.decodedNames) : nil
    }

    private static func parse(
        _ json: UnsafeBufferPointer<UInt8>, into parsing: UnsafeMutablePointer<JSONParsing>,
        _ callbacks: UnsafePointer<yajl_callbacks>
    ) -> Bool {
        guard let parser = yajl_alloc(callbacks, nil, parsing) else { return false }
        defer { yajl_free(parser) }
        parsing.pointee.parser = parser
        return yajl_parse(parser, json.baseAddress, json.count) == yajl_status_ok && parsing.pointee.isWhole
    }

    /// Whether the text is one object, begun and closed, and nothing else. At the end of the input yajl would still
    /// wait for the rest of a text or a number.
    private var isWhole: Bool { !nodes.isEmpty && open.isEmpty && json[end...].allSatisfy(Self.isSpace) }

    private static func isSpace(_ byte: UInt8) -> Bool {
        byte == UInt8(ascii: " ") || byte == UInt8(ascii: "\t") || byte == UInt8(ascii: "\n")
            || byte == UInt8(ascii: "\r")
    }

    private static var callbacks: yajl_callbacks {
        yajl_callbacks(
            yajl_null: { JSONParsing.note($0) { $0.add(.null, from: $1, to: $1) } },
            yajl_boolean: { parsing, isTrue in
                JSONParsing.note(parsing) { $0.add(isTrue == 0 ? .no : .yes, from: $1, to: $1) }
            },
            yajl_integer: nil, yajl_double: nil,
            yajl_number: { parsing, _, length in
                JSONParsing.note(parsing) { $0.add(.number, from: $1 - length, to: $1) }
            },
            yajl_string: { parsing, _, length in
                JSONParsing.note(parsing) { $0.addText(decodedLength: length, to: $1) }
            },
            yajl_start_map: { JSONParsing.note($0) { $0.begin(.object, at: $1) } },
            yajl_map_key: { parsing, name, length in
                let name = UnsafeBufferPointer(start: name, count: length)
                return JSONParsing.note(parsing) { $0.addName(name, to: $1) }
            },
            yajl_end_map: { JSONParsing.note($0) { parsing, _ in parsing.finish() } },
            yajl_start_array: { JSONParsing.note($0) { $0.begin(.list, at: $1) } },
            yajl_end_array: { JSONParsing.note($0) { parsing, _ in parsing.finish() } })
    }

    /// - Parameter token: notes a token, given where it ends; returns false to stop.
    private static func note(
        _ context: UnsafeMutableRawPointer?, _ token: (inout JSONParsing, Int) -> Bool
    ) -> Int32 {
        guard let parsing = context?.assumingMemoryBound(to: JSONParsing.self) else { return 0 }
        let end = yajl_get_bytes_consumed(parsing.pointee.parser)
        guard token(&parsing.pointee, end) else { return 0 }
        parsing.pointee.end = end
        return 1
    }
}

extension JSONParsing {
    private mutating func begin(_ kind: JSONTree.Node.Kind, at end: Int) -> Bool {
        guard open.count < Self.depthLimit, kind == .object || !open.isEmpty else { return false }
        open.append(nodes.count)
        append(kind, from: end, to: end)
        return true
    }

    private mutating func finish() -> Bool {
        guard let last = open.popLast() else { return false }
        nodes[last].next = UInt32(nodes.count)
        return true
    }

    private mutating func add(_ kind: JSONTree.Node.Kind, from start: Int, to end: Int) -> Bool {
        guard !open.isEmpty else { return false }
        append(kind, from: start, to: end)
        return true
    }

    /// Notes a text. yajl says how long it is once decoded; if that is shorter than what was written, it has escapes.
    private mutating func addText(decodedLength: Int, to closingQuote: Int) -> Bool {
        // Between two tokens there is only white space, a comma or a colon.
        guard let quote = json[end..<closingQuote].firstIndex(of: Self.quote) else { return false }
        let kind: JSONTree.Node.Kind = closingQuote - 1 - (quote + 1) == decodedLength ? .text : .escapedText
        return add(kind, from: quote + 1, to: closingQuote - 1)
    }

    private mutating func addName(_ decoded: UnsafeBufferPointer<UInt8>, to closingQuote: Int) -> Bool {
        guard addText(decodedLength: decoded.count, to: closingQuote) else { return false }
        if nodes.last?.kind == .escapedText {
            nodes.removeLast()
            decodedNames += decoded
            let end = json.count + decodedNames.count
            append(.text, from: end - decoded.count, to: end)
        }
        return true
    }

    private mutating func append(_ kind: JSONTree.Node.Kind, from start: Int, to end: Int) {
        nodes.append(
            JSONTree.Node(
                kind: kind, start: UInt32(truncatingIfNeeded: start), end: UInt32(truncatingIfNeeded: end),
                next: UInt32(truncatingIfNeeded: nodes.count + 1)))
    }
}
