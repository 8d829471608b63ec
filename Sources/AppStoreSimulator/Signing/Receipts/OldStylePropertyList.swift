/// A property list of the old style that holds only texts, the form of iOS 6 style receipts: `"key" = "value";`.
struct OldStylePropertyList {
    private(set) var entries: [(key: String, value: String)] = []

    init() {}

    subscript(_ key: String) -> String? {
        entries.first { $0.key == key }?.value
    }

    mutating func add(_ key: String, _ value: String?) {
        guard let value else { return }
        entries.append((key, value))
    }

    var text: String {
        let lines = entries.map { "\t\(Self.quoted($0.key)) = \(Self.quoted($0.value));\n" }
        return "{\n\(lines.joined())}"
    }

    private static func quoted(_ text: String) -> String {
        "\"\(text.replacing("\\", with: "\\\\").replacing("\"", with: "\\\""))\""
    }

    /// Reads what `text` writes; `nil` if it is anything else.
    init?(text: some StringProtocol) {
        var rest = Substring(text)
        func skip(_ character: Character) -> Bool {
            rest = rest.drop(while: \.isWhitespace)
            return rest.popFirst() == character
        }
        guard skip("{") else { return nil }
        while !skip("}") {
            // The skipped character must have been a key's opening quote.
            guard let key = Self.quoted(rest: &rest), skip("="), skip("\""), let value = Self.quoted(rest: &rest),
                skip(";")
            else { return nil }
            entries.append((key, value))
        }
    }

    /// A text after its opening quote.
    private static func quoted(rest: inout Substring) -> String? {
        var text = ""
        while let character = rest.popFirst() {
            switch character {
            case "\"": return text
            case "\\":
                guard let escaped = rest.popFirst() else { return nil }
                text.append(escaped)
            default: text.append(character)
            }
        }
        return nil
    }
}
