import Foundation
public import Reconciliation

/// Finance's monthly statement, in its printed forms.
public enum StatementText {
    /// The tables as CSV, separated by empty lines.
    public static func csv(_ statement: Statement) -> String {
        statement.tables.map { spanned($0, statement) }.map { table in
            CSV.line(table.columns) + table.rows.map(CSV.line).joined()
        }.joined(separator: "\r\n")
    }

    /// Adds to each row which days it covers, so that it can be copied anywhere.
    private static func spanned(_ table: StatementTable, _ statement: Statement) -> StatementTable {
        StatementTable(
            columns: ["first", "through"] + table.columns,
            rows: table.rows.map { [.day(statement.first), .day(statement.through)] + $0 })
    }

    /// An object on one line, with a list of objects for each table.
    public static func json(_ statement: Statement) throws -> String {
        try String(
            json: JSONStatement(
                first: statement.first.description, through: statement.through.description,
                liability: objects(statement.liability), sales: objects(statement.sales),
                proceeds: objects(statement.proceeds), differences: objects(statement.differences))) + "\n"
    }

    private struct JSONStatement: Encodable {
        let first, through: String
        let liability, sales, proceeds, differences: [[String: StatementValue]]
    }

    private static func objects(_ table: StatementTable) -> [[String: StatementValue]] {
        table.rows.map { row in
            Dictionary(uniqueKeysWithValues: zip(table.columns, row).filter { $0.1 != .nothing })
        }
    }

    /// Writes a spreadsheet with a sheet for each table. The same statement gives the same bytes.
    ///
    /// - Throws: `ReportError`.
    public static func writeSpreadsheet(_ statement: Statement, to path: String) throws {
        let workbook = try Workbook(
            path: path, folder: NSTemporaryDirectory(), title: "\(statement.first) – \(statement.through)",
            created: statement.closedAt)
        let tables = statement.tables.map { spanned($0, statement) }
        let names = ["Statement", "Sold against seen", "Proceeds", "Differences"]
        let sheets = try zip(names, tables).map { name, table in
            try Sheet(name, table.columns.map { Sheet.Column(title: $0, width: 16) }, about: 5, in: workbook)
        }
        for (sheet, table) in zip(sheets, tables) {
            let place = table.columns.firstIndex(of: "currency")
            for row in table.rows {
                let currency = place.flatMap { row[$0].currency }
                try sheet.add(row.map { $0.cell(in: currency) })
            }
            try sheet.finish()
        }
        try workbook.close()
    }
}

extension CSV {
    /// A line of figures and texts; a negative figure is no formula.
    fileprivate static func line(_ values: [StatementValue]) -> String {
        values.map { value in
            switch value {
            case .text(let text): cell(id(text))
            case .day(let day): day.description
            case .moment(let moment): Formats.utc(moment)
            case .whole(let number): String(number)
            case .amount(let amount): amount.description
            case .nothing: ""
            }
        }.joined(separator: ",") + "\r\n"
    }
}

extension StatementValue: Encodable {
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        switch self {
        case .text(let text): try container.encode(text)
        case .day(let day): try container.encode(day.description)
        case .moment(let moment): try container.encode(Formats.utc(moment))
        case .whole(let number): try container.encode(number)
        case .amount(let amount): try container.encode(amount)
        case .nothing: try container.encodeNil()
        }
    }

    fileprivate var currency: CurrencyCode? {
        if case .text(let code) = self { CurrencyCode(code) } else { nil }
    }

    /// - Parameter currency: the currency of the row's amounts, if it is known.
    fileprivate func cell(in currency: CurrencyCode?) -> Sheet.Cell {
        switch self {
        case .text(let text): .text(text)
        case .day(let day): .day(day)
        case .moment(let moment): .moment(moment, .gmt)
        case .whole(let number): .number(number)
        case .amount(let amount):
            if let currency {
                .money(Money(milliunits: NSDecimalNumber(decimal: amount * 1000).int64Value, currency: currency))
            } else {
                .decimal(NSDecimalNumber(decimal: amount).doubleValue)
            }
        case .nothing: .text("")
        }
    }
}
