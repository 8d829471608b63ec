/// A text in which `{name}` stands for a value. Values are inserted once, as they are: braces within a value stay text.
/// `{name|case|cases}` is the first word if the value is 1, otherwise the second.
struct Template {
    enum Piece: Hashable {
        case text(String)
        case value(String)
        case counted(by: String, one: String, many: String)
    }

    let pieces: [Piece]

    init(_ template: String) {
        var pieces: [Piece] = []
        var rest = template[...]
        while let open = rest.firstIndex(of: "{"), let close = rest[open...].firstIndex(of: "}") {
            if open > rest.startIndex { pieces.append(.text(String(rest[..<open]))) }
            pieces.append(Self.piece(rest[rest.index(after: open)..<close]))
            rest = rest[rest.index(after: close)...]
        }
        if !rest.isEmpty { pieces.append(.text(String(rest))) }
        self.pieces = pieces
    }

    private static func piece(_ braced: Substring) -> Piece {
        let parts = braced.split(separator: "|", omittingEmptySubsequences: false).map(String.init)
        return parts.count == 3 ? .counted(by: parts[0], one: parts[1], many: parts[2]) : .value(String(braced))
    }

    func filled(_ values: [String: String]) -> String {
        pieces.map { piece in
            switch piece {
            case .text(let text): text
            case .value(let name): values[name] ?? ""
            case .counted(let name, let one, let many): values[name] == "1" ? one : many
            }
        }.joined()
    }

    func filled(_ values: [String: HTML]) -> HTML { filled(values) { values[$0]?.text == "1" } }

    /// - Parameter isOne: whether the value of this name is 1, which its piece of a page need not show.
    func filled(_ values: [String: HTML], isOne: (String) -> Bool) -> HTML {
        pieces.reduce("") { html, piece in
            switch piece {
            case .text(let text): "\(html)\(text)"
            case .value(let name): html + (values[name] ?? "")
            case .counted(let name, let one, let many): "\(html)\(isOne(name) ? one : many)"
            }
        }
    }
}
