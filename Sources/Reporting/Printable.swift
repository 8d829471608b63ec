/// Texts that clients sent, made fit for a terminal, a mail or a log.
package enum Printable {
    /// The text without what could move the cursor or reorder the line, cut to what a line can bear.
    static func text(_ text: String, longest: Int = 80) -> String {
        line(cut(text, to: longest), replacement: "\u{FFFD}")
    }

    /// The text as part of a line, whatever stands in it.
    package static func line(_ text: String, replacement: Unicode.Scalar = " ") -> String {
        String(String.UnicodeScalarView(text.unicodeScalars.map { isInvisible($0) ? replacement : $0 }))
    }

    /// A text of several lines, as the program's own messages are.
    package static func lines(_ text: String) -> String {
        text.unicodeScalars.split(separator: "\n", omittingEmptySubsequences: false)
            .map { line(String($0), replacement: "\u{FFFD}") }.joined(separator: "\n")
    }

    /// JSON in which what no terminal should see is written `\u…`: to whoever parses it, the same text.
    package static func json(_ json: String) -> String {
        // JSON's own line breaks and tabs stand between values; in a text, they are escaped already.
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

    /// The text's beginning. It is cut by scalars: one character can have megabytes of marks.
    static func cut(_ text: String, to longest: Int, ending: String = "") -> String {
        guard text.utf8.count > longest,
            let end = text.unicodeScalars.index(
                text.startIndex, offsetBy: longest, limitedBy: text.endIndex), end < text.endIndex
        else { return text }
        return String(text[..<end]) + ending
    }

    /// What reorders the text around it, against which no quote helps: embeddings, overrides and isolates. The marks
    /// that Arabic and Hebrew need are none of these.
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
