/// A JSON array, written value by value, as the cases of a page are too many for a general encoder. It is safe inside a
/// `script` element of a page.
struct JSONLine {
    private(set) var text = "["

    var closed: String { text + "]" }

    mutating func add(_ value: Int64?) { append(value.map(String.init) ?? "null") }
    mutating func add(_ value: Int?) { add(value.map(Int64.init)) }
    mutating func add(_ value: Bool) { append(value ? "1" : "0") }
    mutating func add(_ value: String) { append(Self.quoted(value)) }
    mutating func add(_ line: JSONLine) { append(line.closed) }

    mutating func add<Values: Sequence>(each values: Values, _ body: (inout JSONLine, Values.Element) -> Void) {
        var line = JSONLine()
        for value in values { body(&line, value) }
        add(line)
    }

    private mutating func append(_ json: String) {
        if text.utf8.count > 1 { text += "," }
        text += json
    }

    private static func quoted(_ value: String) -> String {
        var quoted = "\""
        for scalar in value.unicodeScalars {
            switch scalar {
            case "\"": quoted += "\\\""
            case "\\": quoted += "\\\\"
            case "<": quoted += "\\u003c"
            case ">": quoted += "\\u003e"
            case _ where scalar.value < 0x20 || (0x7F...0x9F).contains(scalar.value):
                let digits = String(scalar.value, radix: 16)
                quoted += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
            default: quoted.unicodeScalars.append(scalar)
            }
        }
        return quoted + "\""
    }
}
