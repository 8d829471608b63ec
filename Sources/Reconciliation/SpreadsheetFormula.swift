/// What a spreadsheet may take for a formula (OWASP, "CSV Injection"). What is written for one has an apostrophe in front
/// of such a text, and what is read from one is without it.
package enum SpreadsheetFormula {
    /// Also in the width of East Asian scripts; and a byte order mark, after which one may hide.
    private static let beginnings =
        "=+-@|%\t\r\n\u{FF1D}\u{FF0B}\u{FF0D}\u{FF20}\u{FF5C}\u{FF05}\u{FEFF}".unicodeScalars

    /// Whether a text begins as a formula does.
    package static func begins(_ text: some StringProtocol) -> Bool {
        text.unicodeScalars.first.map(beginnings.contains) ?? false
    }
}
