import Foundation
import Reconciliation

/// `lost-orders.csv`: RFC 4180, UTF-8 with a byte order mark so that Excel reads Chinese.
package enum CSV {
    static let byteOrderMark = "\u{FEFF}"

    static func header(_ formats: Formats) -> String { line(CSVColumn.all.map { $0.name(formats) }) }

    /// The columns from which a decision is read back; the last two of them are empty.
    static let decisionColumns: [(String, DecisionVocabulary.Column)] = [
        ("transaction_id", .transaction), ("case", .mark), ("decision", .decision), ("note", .note),
    ]

    static func row(_ found: ReportedCase, _ formats: Formats, _ words: any Wording, now: Date) -> String {
        let row = CSVRow(found: found, formats: formats, words: words, now: now)
        return line(CSVColumn.all.map { $0.cell(row) })
    }

    /// A line, with quotes around cells that need them.
    ///
    /// - Parameter isReadBack: whether a program reads it, which takes an id exactly as written.
    package static func line(_ cells: [String], isReadBack: Bool = false) -> String {
        cells.map { isReadBack ? cell($0, isReadBack: true) : cell(id($0)) }.joined(separator: ",") + "\r\n"
    }

    /// An id that Excel would round (beyond 15 digits), write as 1E+15, or take for another number: 0042 for 42, 12e4 for
    /// 120000. It is kept as text by a leading apostrophe, which unlike ="…" is no formula.
    static func id(_ text: String) -> String {
        isChangedByExcel(text.utf8) ? "'" + text : text
    }

    private static func isChangedByExcel(_ text: String.UTF8View) -> Bool {
        guard let first = text.first, let last = text.last, isDigit(first), isDigit(last) else { return false }
        var others = text.lazy.filter { !isDigit($0) }.makeIterator()
        guard let exponent = others.next() else {
            return text.count >= 12 || first == UInt8(ascii: "0") && text.count > 1
        }
        return "eE".utf8.contains(exponent) && others.next() == nil
    }

    /// What a company calls something, which may be written as a date, a time, a share or a truth is: 1/2, 12:30, 3-4,
    /// 1.50, 10%, 5may, TRUE. Like an id it is kept as text.
    static func name(_ text: String) -> String {
        isTakenForAnotherValue(text) ? "'" + text : text
    }

    private static func isTakenForAnotherValue(_ text: String) -> Bool {
        let bytes = text.utf8
        guard bytes.count <= longestValue, let first = bytes.first else { return false }
        let fromWord = bytes.drop { !isLetter($0) }
        let behindWord = fromWord.drop(while: isLetter)
        guard !fromWord.isEmpty else { return isDigit(first) && !bytes.allSatisfy(isDigit) }
        guard !behindWord.contains(where: isLetter) else { return false }
        let word = text[fromWord.startIndex..<behindWord.startIndex].lowercased()
        return bytes.contains(where: isDigit)
            ? months.contains(String(word.prefix(3))) : bytes.count == word.utf8.count && truths.contains(word)
    }

    private static func isDigit(_ byte: UInt8) -> Bool { UInt8(ascii: "0")...UInt8(ascii: "9") ~= byte }

    /// Also a byte of any other script's.
    private static func isLetter(_ byte: UInt8) -> Bool {
        byte >= 0x80 || UInt8(ascii: "a")...UInt8(ascii: "z") ~= byte | 0x20
    }

    private static let truths: Set = ["true", "false"]
    private static let months: Set = [
        "jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec",
    ]
    /// In bytes.
    private static let longestValue = 32

    /// A cell that no spreadsheet takes for a formula. LibreOffice parts cells at a semicolon and a tab, too, unless
    /// they are quoted.
    static func cell(_ text: String, isReadBack: Bool = false) -> String {
        if isPlain(text) { return text }
        let text = guarded(withoutLiveControls(text), alsoWithin: !isReadBack)
        guard text.unicodeScalars.contains(where: { ",;\t\"\r\n".unicodeScalars.contains($0) }) else { return text }
        // By scalars: to Swift, a quote and an accent after it are one character, which no search for a quote finds.
        let doubled = text.unicodeScalars.flatMap { $0 == "\"" ? [$0, $0] : [$0] }
        return "\"" + String(String.UnicodeScalarView(doubled)) + "\""
    }

    /// The text with an apostrophe before what a spreadsheet would take for a formula: at its beginning, and within it
    /// behind a semicolon or the end of a line. In a country where Excel separates by semicolons, the quote behind a
    /// comma is none, and both end a cell.
    private static func guarded(_ text: String, alsoWithin: Bool) -> String {
        let ends = ";\r\n".unicodeScalars
        var safe = String.UnicodeScalarView()
        var previous: Unicode.Scalar?
        for scalar in text.unicodeScalars {
            let isFirst = previous.map { alsoWithin && ends.contains($0) && !ends.contains(scalar) } ?? true
            if isFirst, SpreadsheetFormula.begins(String(scalar)) { safe.append("'") }
            safe.append(scalar)
            previous = scalar
        }
        return String(safe)
    }

    /// Removes escape sequences, which a terminal would execute. Tabs and line breaks are left in the text.
    private static func withoutLiveControls(_ text: String) -> String {
        let scalars = text.unicodeScalars.compactMap { scalar -> Unicode.Scalar? in
            switch scalar {
            case "\0": nil
            case "\t", "\r", "\n": scalar
            case _ where scalar.properties.generalCategory == .control || Printable.isReordering(scalar): "\u{FFFD}"
            default: scalar
            }
        }
        return String(String.UnicodeScalarView(scalars))
    }

    /// Whether the cell is the text itself, as nearly all are, so that nothing need be searched for.
    private static func isPlain(_ text: String) -> Bool {
        !"=+-@|%".utf8.contains(text.utf8.first ?? 0) && text.utf8.allSatisfy(isPlain)
    }

    /// A literal's bytes would be searched anew for each byte of each cell.
    private static func isPlain(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: ","), UInt8(ascii: ";"), UInt8(ascii: "\""): false
        default: (0x20..<0x7F).contains(byte)
        }
    }
}
