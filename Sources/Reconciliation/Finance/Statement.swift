public import Foundation

/// What finance is told of a month.
public struct Statement: Hashable, Sendable {
    /// The first and the last day that it tells of.
    public let first, through: CalendarDay
    /// From what was owed at the beginning to what is owed at the end, by app, product and currency.
    public let liability: StatementTable
    /// What Apple sold and the tables saw, with proceeds.
    public let sales: StatementTable
    /// By which purchases those differ.
    public let differences: StatementTable

    public init(
        first: CalendarDay, through: CalendarDay, liability: StatementTable, sales: StatementTable,
        differences: StatementTable
    ) {
        self.first = first
        self.through = through
        self.liability = liability
        self.sales = sales
        self.differences = differences
    }

    /// Whether none of its tables has a row.
    public var isEmpty: Bool { [liability, sales, differences].allSatisfy(\.rows.isEmpty) }
}

/// Rows, as a function of schema `finance` gives them.
public struct StatementTable: Hashable, Sendable {
    /// As the function calls them.
    public let columns: [String]
    /// A value for each column.
    public let rows: [[StatementValue]]

    public init(columns: [String], rows: [[StatementValue]]) {
        self.columns = columns
        self.rows = rows
    }
}

/// What stands in a cell of a statement.
public enum StatementValue: Hashable, Sendable {
    case text(String)
    case whole(Int)
    /// In units of its currency.
    case amount(Decimal)
    case nothing
}
