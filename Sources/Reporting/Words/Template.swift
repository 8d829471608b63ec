/// A text in which `{name}` stands for a value. Values are inserted once, as they are: braces within a value stay text.
struct Template {
    enum Piece: Hashable {
        case text(String)
        case value(String)
    }

    let pieces: [Piece]

    init(_ template: String) {
        var pieces: [Piece] = []
        var rest = template[...]
        while let open = rest.firstIndex(of: "{"), let close = rest[open...].firstIndex(of: "}") {
            if open > rest.startIndex { pieces.append(.text(String(rest[..<open]))) }
            pieces.append(.value(String(rest[rest.index(after: open)..<close])))
            rest = rest[rest.index(after: close)...]
        }
        if !rest.isEmpty { pieces.append(.text(String(rest))) }
        self.pieces = pieces
    }

    func filled(_ values: [String: String]) -> String {
        pieces.map { piece in
            switch piece {
            case .text(let text): text
            case .value(let name): values[name] ?? ""
            }
        }.joined()
    }

    func filled(_ values: [String: HTML]) -> HTML {
        pieces.reduce("") { html, piece in
            switch piece {
            case .text(let text): "\(html)\(text)"
            case .value(let name): html + (values[name] ?? "")
            }
        }
    }
}
