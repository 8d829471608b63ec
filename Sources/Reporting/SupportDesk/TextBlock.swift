/// A heading, and lines below it with aligned names.
struct TextBlock {
    let title: String
    private(set) var lines: [(name: String, text: String)] = []

    init(_ title: String) {
        self.title = title
    }

    mutating func add(_ name: String, _ text: String?) {
        if let text { lines.append((name, text)) }
    }

    /// Adds several texts under one name.
    mutating func add(_ name: String, _ texts: [String]) {
        for (index, text) in texts.enumerated() { lines.append((index == 0 ? name : "", text)) }
    }

    var text: String {
        let width = lines.map { Self.columns($0.name) }.max() ?? 0
        let aligned = lines.map { name, text in
            "  " + name + String(repeating: " ", count: width - Self.columns(name) + 2) + text
        }
        return ([title] + aligned).joined(separator: "\n")
    }

    /// How many columns of a terminal a name takes: two for each Chinese character.
    private static func columns(_ name: String) -> Int {
        name.unicodeScalars.reduce(0) { $0 + ($1.properties.isIdeographic ? 2 : 1) }
    }
}
