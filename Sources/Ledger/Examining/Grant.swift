/// A right that `sql/roles.sql` grants to a role: that script says alone what each role needs.
struct Grant: Hashable {
    /// What it is a right on.
    enum Kind: String {
        case schema, relation, sequence, function
        case everyRelation = "every relation"
        case everyFunction = "every function"
    }

    let kind: Kind
    /// Such as UPDATE.
    let privilege: String
    /// `nil` for all of the object.
    let column: String?
    /// As the script names it: with its schema, and a function of which there are several with its parameters.
    let object: String
    let role: String
}

extension Grant {
    /// All that the script's statements grant. What its DO blocks grant on a database, whose name they look up, is not
    /// among it, nor are memberships: they tell more of who holds a lock, and nothing fails without.
    static func all(in script: String) -> [Grant] { statements(of: script).flatMap(grants) }

    private static func statements(of script: String) -> [String] {
        let bare: String = script.split(separator: "\n").map { (line: Substring) -> Substring in
            line.firstRange(of: "--").map { line[..<$0.lowerBound] } ?? line
        }.joined(separator: " ")
        let pieces: [Substring] = bare.split(separator: "$$", omittingEmptySubsequences: false)
        let outsideOfBlocks = stride(from: 0, to: pieces.count, by: 2).map { pieces[$0] }.joined(separator: " ")
        return outsideOfBlocks.split(separator: ";").map { $0.split(separator: " ").joined(separator: " ") }
    }

    private static func grants(_ statement: String) -> [Grant] {
        let form =
            /GRANT (.+?) ON (?:(SCHEMA|SEQUENCE|FUNCTION|ALL TABLES IN SCHEMA|ALL FUNCTIONS IN SCHEMA) )?(.+) TO (.+)/
        guard let found = statement.wholeMatch(of: form) else { return [] }
        let kind = kind(found.2)
        return list(found.4).flatMap { role in
            list(found.1).flatMap(rights).flatMap { right in
                list(found.3).map { object in
                    Grant(
                        kind: kind, privilege: right.privilege, column: right.column, object: object, role: role)
                }
            }
        }
    }

    private static func kind(_ words: Substring?) -> Kind {
        switch words {
        case "SCHEMA": .schema
        case "SEQUENCE": .sequence
        case "FUNCTION": .function
        case "ALL TABLES IN SCHEMA": .everyRelation
        case "ALL FUNCTIONS IN SCHEMA": .everyFunction
        default: .relation
        }
    }

    /// Such as `UPDATE (state, seal)`: one for each column.
    private static func rights(_ text: String) -> [(privilege: String, column: String?)] {
        guard let found = text.wholeMatch(of: /(\w+) \((.+)\)/) else { return [(text, nil)] }
        return list(found.2).map { (String(found.1), $0) }
    }

    /// What commas part, other than those between parentheses.
    private static func list(_ text: Substring) -> [String] {
        var depth = 0
        var items: [String] = [""]
        for character in text {
            if character == "(" { depth += 1 }
            if character == ")" { depth -= 1 }
            if character == ",", depth == 0 {
                items.append("")
            } else {
                items[items.count - 1].append(character)
            }
        }
        return items.map { String($0.drop { $0 == " " }) }
    }
}
