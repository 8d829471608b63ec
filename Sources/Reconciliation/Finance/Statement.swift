public import Foundation

/// What finance is told of a month.
public struct Statement: Hashable, Sendable {
    /// The first and the last day that it covers.
    public let first, through: CalendarDay
    /// The moment that the run which closed the last day took for the present.
    public let closedAt: Date
    /// From what was owed at the beginning to what is owed at the end, by app, product and currency.
    public let liability: StatementTable
    /// What Apple sold and the tables saw, by product.
    public let sales: StatementTable
    /// The developer's part of what Apple sold, by product and currency.
    public let proceeds: StatementTable
    /// The purchases by which what was booked, sold and seen differs.
    public let differences: StatementTable

    public init(
        first: CalendarDay, through: CalendarDay, closedAt: Date, liability: StatementTable, sales: StatementTable,
        proceeds: StatementTable, differences: StatementTable
    ) {
        self.first = first
        self.through = through
        self.closedAt = closedAt
        self.liability = liability
        self.sales = sales
        self.proceeds = proceeds
        self.differences = differences
    }

    /// All tables, in the order in which they are shown.
    public var tables: [StatementTable] { [liability, sales, proceeds, differences] }

    /// Whether none of its tables has a row.
    public var isEmpty: Bool { tables.allSatisfy(\.rows.isEmpty) }
}

/// Rows, as a function of the schema `finance` gives them.
public struct StatementTable: Hashable, Sendable {
    /// The columns' names, as the function has them.
    public let columns: [String]
    /// A value for each column.
    public let rows: [[StatementValue]]

    public init(columns: [String], rows: [[StatementValue]]) {
        self.columns = columns
        self.rows = rows
    }
}

/// The value of a statement's cell.
public enum StatementValue: Hashable, Sendable {
    case text(String)
    case day(CalendarDay)
    case moment(Date)
    case whole(Int)
    /// An amount in units of its currency.
    case amount(Decimal)
    case nothing
}
