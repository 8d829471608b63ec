/// Makes texts that clients sent safe for a terminal, a mail or a log.
package enum Printable {
    /// The text without anything that could move the cursor or reorder the line, cut to the length that a line can
    /// take.
    static func text(_ text: String, longest: Int = 80) -> String {
        line(cut(text, to: longest), replacement: "\u{FFFD}")
    }

    /// The text as part of a line, whatever it holds.
    package static func line(_ text: String, replacement: Unicode.Scalar = " ") -> String {
        String(String.UnicodeScalarView(text.unicodeScalars.map { isInvisible($0) ? replacement : $0 }))
    }

    /// A text of several lines, such as the program's own messages.
    package static func lines(_ text: String) -> String {
        text.unicodeScalars.split(separator: "\n", omittingEmptySubsequences: false)
            .map { line(String($0), replacement: "\u{FFFD}") }.joined(separator: "\n")
    }

    /// JSON in which characters that no terminal should get are written `\u…`, which parses as the same text.
    package static func json(_ json: String) -> String {
        // JSON's own line breaks and tabs are between values; within a text they are escaped already.
        guard json.unicodeScalars.contains(where: isHiddenInJSON) else { return json }
        var escaped = ""
        for scalar in json.unicodeScalars {
            guard isHiddenInJSON(scalar) else {
                escaped.unicodeScalars.append(scalar)
                continue
            }
            for unit in String(scalar).utf16 {
                let digits = String(unit, radix: 16)
                escaped += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
            }
        }
        return escaped
    }

    /// The beginning of the text. It is cut by scalars, as one character can have megabytes of marks.
    static func cut(_ text: String, to longest: Int, ending: String = "") -> String {
        guard text.utf8.count > longest,
            let end = text.unicodeScalars.index(
                text.startIndex, offsetBy: longest, limitedBy: text.endIndex), end < text.endIndex
        else { return text }
        return String(text[..<end]) + ending
    }

    /// The text in which what would reorder it is shown as what it is: no letter.
    static func inOrder(_ text: String) -> String {
        guard text.unicodeScalars.contains(where: isReordering) else { return text }
        return String(String.UnicodeScalarView(text.unicodeScalars.map { isReordering($0) ? "\u{FFFD}" : $0 }))
    }

    /// Whether the scalar reorders the text around it, against which quotes don't help: embeddings, overrides and
    /// isolates. The marks that Arabic and Hebrew need are not among these.
    static func isReordering(_ scalar: Unicode.Scalar) -> Bool {
        (0x202A...0x202E).contains(scalar.value) || (0x2066...0x2069).contains(scalar.value)
    }

    private static func isInvisible(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.properties.generalCategory {
        case .control, .format, .lineSeparator, .paragraphSeparator: true
        default: false
        }
    }

    private static func isHiddenInJSON(_ scalar: Unicode.Scalar) -> Bool {
        scalar.value > 0x7E && isInvisible(scalar)
    }
}
