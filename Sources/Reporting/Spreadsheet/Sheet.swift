import CXLSXWriter
import Foundation
import Reconciliation

/// A sheet of a spreadsheet: a frozen line of headings with filters, and rows below it. Rows beyond the limit of a
/// sheet go to a further one.
final class Sheet {
    /// The content of a cell, by its type.
    enum Cell {
        case text(String)
        case number(Int)
        case decimal(Double)
        case money(Money?)
        case day(CalendarDay)
        /// In the zone that the column's heading names.
        case moment(Date?, TimeZone)
    }

    /// How a row relates to those around it.
    enum Standing {
        case alone
        /// Above the rows that belong to it, in bold.
        case heading
        /// Below a heading, under which it can be folded away.
        case member
    }

    struct Column {
        let title: String
        let width: Double
        /// The values for the cells below, in a drop-down; empty if any value is allowed.
        var choices: [String] = []
        /// The message for a person who enters another value.
        var hint = ""
    }

    /// Excel's own limit, with the headings.
    private static let mostRows = 1_048_576
    private static let longestText = 32_767
    /// The width of a column counts digits; fewer characters fit if words wrap.
    private static let charactersPerWidth = 0.8
    /// In points.
    private static let lineHeight = 15.0
    private static let highestRow = 409.0

    private let workbook: Workbook
    private let name: String
    private let columns: [Column]
    /// How many columns identify a row.
    private let repeatedColumns: Int
    private var sheet: UnsafeMutablePointer<lxw_worksheet>
    private var number = 1
    private var row: lxw_row_t = 0

    init(_ name: String, _ columns: [Column], about: Int, in workbook: Workbook) throws(ReportError) {
        self.workbook = workbook
        self.name = name
        self.columns = columns
        repeatedColumns = about
        sheet = try workbook.sheet(name)
        try begin()
    }

    func add(_ cells: [Cell], as standing: Standing = .alone) throws(ReportError) {
        if row >= Self.mostRows {
            try finish()
            number += 1
            sheet = try workbook.sheet("\(name) \(number)")
            try begin()
        }
        try begin(standing, height: height(of: cells))
        for (column, cell) in cells.enumerated() { try write(cell, lxw_col_t(column), isBold: standing == .heading) }
        row += 1
    }

    private func begin(_ standing: Standing, height: Double) throws(ReportError) {
        switch standing {
        case .alone, .heading:
            guard height > Self.lineHeight else { return }
            try workbook.check(worksheet_set_row(sheet, row, height, nil))
        case .member:
            var options = lxw_row_col_options()
            options.level = 1
            try workbook.check(worksheet_set_row_opt(sheet, row, height, nil, &options))
        }
    }

    /// The height that the longest text needs: office programs other than Excel don't compute it when they open a file.
    private func height(of cells: [Cell]) -> Double {
        var lines = 1
        for (cell, column) in zip(cells, columns) {
            guard case .text(let text) = cell, Double(text.utf8.count) > column.width * Self.charactersPerWidth else {
                continue
            }
            lines = max(lines, Self.lines(of: text, inWidth: column.width * Self.charactersPerWidth))
        }
        return min(Self.highestRow, Double(lines) * Self.lineHeight)
    }

    /// How many lines a text takes; Chinese characters are two wide.
    private static func lines(of text: String, inWidth width: Double) -> Int {
        // A short text, as in nearly every cell, needs no look at its characters.
        if text.utf8.count * 2 <= Int(width), !text.utf8.contains(UInt8(ascii: "\n")) { return 1 }
        return text.utf8.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false).reduce(0) { sum, line in
            let length = line.reduce(0) { $0 + Self.width(ofLeading: $1) }
            return sum + max(1, Int((Double(length) / width).rounded(.up)))
        }
    }

    /// The width of a character by its first byte in UTF-8: characters from U+1000 on have three bytes or more. The
    /// bytes after the first count nothing.
    private static func width(ofLeading byte: UInt8) -> Int {
        switch byte {
        case 0x80..<0xC0: 0
        case 0xE1...: 2
        default: 1
        }
    }

    /// Puts the filters and the drop-downs over all rows.
    func finish() throws(ReportError) {
        for (index, column) in columns.enumerated() where !column.choices.isEmpty && row > 1 {
            try offerChoices(of: column, in: lxw_col_t(index))
        }
        worksheet_autofilter(sheet, 0, 0, max(1, row) - 1, lxw_col_t(columns.count - 1))
    }

    private func offerChoices(of column: Column, in place: lxw_col_t) throws(ReportError) {
        var choices = column.choices.map { strdup($0) }
        let hint = strdup(column.hint)
        defer { for text in choices + [hint] { free(text) } }
        choices.append(nil)
        let failure = choices.withUnsafeMutableBufferPointer { list in
            var validation = lxw_data_validation()
            validation.validate = UInt8(LXW_VALIDATION_TYPE_LIST.rawValue)
            validation.value_list = list.baseAddress
            validation.error_message = hint
            return worksheet_data_validation_range(sheet, 1, place, row - 1, place, &validation)
        }
        try workbook.check(failure)
    }

    private func begin() throws(ReportError) {
        row = 0
        worksheet_freeze_panes(sheet, 1, 0)
        // Headings are above their rows.
        worksheet_outline_settings(sheet, 1, 0, 1, 0)
        try layOutForPrint()
        for (index, column) in columns.enumerated() {
            let place = lxw_col_t(index)
            try workbook.check(worksheet_set_column(sheet, place, place, column.width, nil))
            try workbook.check(worksheet_write_string(sheet, 0, place, column.title, workbook.formats.heading))
        }
        row = 1
    }

    /// Repeats on each printed page the headings, and the columns that identify a row.
    private func layOutForPrint() throws(ReportError) {
        worksheet_set_landscape(sheet)
        worksheet_set_paper(sheet, 9)  // A4
        worksheet_print_across(sheet)
        // At most two sheets wide, whatever the number of rows.
        worksheet_fit_to_pages(sheet, 2, 0)
        try workbook.check(worksheet_repeat_rows(sheet, 0, 0))
        try workbook.check(worksheet_repeat_columns(sheet, 0, lxw_col_t(min(repeatedColumns, columns.count) - 1)))
        try workbook.check(worksheet_set_footer(sheet, "&L&A&R&P / &N"))
    }

    private func write(_ cell: Cell, _ column: lxw_col_t, isBold: Bool) throws(ReportError) {
        let formats = workbook.formats
        switch cell {
        case .text(let text):
            guard !text.isEmpty else { return }
            let format = isBold ? formats.bold : formats.text
            try workbook.check(worksheet_write_string(sheet, row, column, Self.clean(text), format))
        case .number(let number):
            try workbook.check(worksheet_write_number(sheet, row, column, Double(number), formats.plain))
        case .decimal(let number):
            try workbook.check(worksheet_write_number(sheet, row, column, number, formats.money[2]))
        case .money(let money):
            guard let money else { return }
            let format = formats.money[Formats.shownDecimals(of: money)]
            try workbook.check(worksheet_write_number(sheet, row, column, Double(money.milliunits) / 1000, format))
        case .day(let day):
            var date = lxw_datetime()
            (date.year, date.month, date.day) = (Int32(day.year), Int32(day.month), Int32(day.day))
            try workbook.check(worksheet_write_datetime(sheet, row, column, &date, formats.day))
        case .moment(let date, let zone):
            guard let date else { return }
            try workbook.check(
                worksheet_write_number(sheet, row, column, Self.serial(date, in: zone), formats.moment))
        }
    }

    /// Days since the end of 1899, which is how a spreadsheet counts, to the second.
    private static func serial(_ date: Date, in zone: TimeZone) -> Double {
        let local = date.timeIntervalSince1970.rounded(.down) + Double(zone.secondsFromGMT(for: date))
        return local / 86_400 + 25_569
    }

    /// Text that XML can hold, that fits into a cell, and that a spreadsheet reads as it is.
    static func clean(_ text: String) -> String {
        // Nearly all is plain ASCII.
        if text.utf8.count <= longestText / 2, text.utf8.allSatisfy({ (0x20..<0x80).contains($0) }) {
            return escaped(text)
        }
        let scalars = text.unicodeScalars.map { scalar -> Unicode.Scalar in
            let isControl = scalar.properties.generalCategory == .control && scalar != "\n" && scalar != "\t"
            let isLive = isControl || Printable.isReordering(scalar)
            return isLive || (0xFFFE...0xFFFF).contains(scalar.value) ? "\u{FFFD}" : scalar
        }
        return escaped(String(String.UnicodeScalarView(scalars.prefix(longestText / 2))))
    }

    /// The text with a mark at each underscore with which a spreadsheet would read a character by its number, as it
    /// reads U+202E for `_x202E_` (ECMA-376, part 1, section 22.9.2.19). It is at most twice as long.
    private static func escaped(_ text: String) -> String {
        guard text.utf8.contains(UInt8(ascii: "_")) else { return text }
        let bytes = Array(text.utf8)
        var escaped: [UInt8] = []
        for (place, byte) in bytes.enumerated() {
            escaped.append(byte)
            if namesCharacter(bytes[place...]) { escaped += "x005F_".utf8 }
        }
        return String(decoding: escaped, as: UTF8.self)
    }

    /// Whether the bytes begin with `_x`, four hexadecimal digits and `_`.
    private static func namesCharacter(_ bytes: ArraySlice<UInt8>) -> Bool {
        guard bytes.starts(with: "_x".utf8) else { return false }
        let rest = bytes.dropFirst(2)
        return rest.prefix { Unicode.Scalar($0).properties.isASCIIHexDigit }.count == 4
            && rest.dropFirst(4).first == UInt8(ascii: "_")
    }
}
