/// A right that `sql/roles.sql` grants to a role: that script says alone what each role needs.
struct Grant: Hashable {
    /// What it is a right on.
    enum Kind: String {
        case database, schema, relation, sequence, function
        case everyRelation = "every relation"
        case everyFunction = "every function"
    }

    let kind: Kind
    /// Such as UPDATE.
    let privilege: String
    /// `nil` for all of the object.
    let column: String?
    /// As the script names it: with its schema, and a function with its parameters if there are several of the name.
    let object: String
    let role: String
}

extension Grant {
    /// All that the script's statements grant. Memberships are left out: they tell more of who holds a lock, and nothing
    /// fails without them. So is what its DO blocks grant on the database, whose name they look up: see
    /// `temporaryTables`.
    static func all(in script: String) -> [Grant] { statements(of: script).flatMap(grants) }

    /// For the roles that stage in temporary tables.
    static let temporaryTables = [LedgerRole.job, .imports].map { role in
        Grant(kind: .database, privilege: "TEMPORARY", column: nil, object: "the database", role: role.rawValue)
    }

    private static func statements(of script: String) -> [String] {
        let bare: String = script.split(separator: "\n").map { (line: Substring) -> Substring in
            line.firstRange(of: "--").map { line[..<$0.lowerBound] } ?? line
        }.joined(separator: " ")
        let pieces: [Substring] = bare.split(separator: "$$", omittingEmptySubsequences: false)
        let outsideOfBlocks = stride(from: 0, to: pieces.count, by: 2).map { pieces[$0] }.joined(separator: " ")
        return outsideOfBlocks.split(separator: ";").map { $0.split(separator: " ").joined(separator: " ") }
    }

    private static func grants(_ statement: String) -> [Grant] {
        guard statement.hasPrefix(verb), let on = statement.firstRange(of: " ON "),
            let to = statement[on.upperBound...].firstRange(of: " TO ")
        else { return [] }
        let granted = statement[..<on.lowerBound].dropFirst(verb.count)
        let (kind, objects) = kind(statement[on.upperBound..<to.lowerBound])
        return list(statement[to.upperBound...]).flatMap { role in
            list(granted).flatMap(rights).flatMap { right in
                list(objects).map { object in
                    Grant(
                        kind: kind, privilege: right.privilege, column: right.column, object: object, role: role)
                }
            }
        }
    }

    private static let verb = "GRANT "

    /// What the objects of a statement are, and their names.
    private static func kind(_ objects: Substring) -> (Kind, names: Substring) {
        for (words, kind) in kinds where objects.hasPrefix(words) { return (kind, objects.dropFirst(words.count)) }
        return (.relation, objects)
    }

    private static let kinds: [(words: String, Kind)] = [
        ("SCHEMA ", .schema), ("SEQUENCE ", .sequence), ("FUNCTION ", .function),
        ("ALL TABLES IN SCHEMA ", .everyRelation), ("ALL FUNCTIONS IN SCHEMA ", .everyFunction),
    ]

    /// Reads rights such as `UPDATE (state, seal)`: one for each column.
    private static func rights(_ text: String) -> [(privilege: String, column: String?)] {
        guard text.hasSuffix(")"), let open = text.firstRange(of: " (") else { return [(text, nil)] }
        return list(text[open.upperBound...].dropLast()).map { (String(text[..<open.lowerBound]), $0) }
    }

    /// The parts between commas, except for commas in parentheses.
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
