import Foundation
import PostgreSQL
public import Reconciliation

extension LedgerSession {
    /// The last day that is closed for good; `nil` if no run has closed its books yet.
    public func closedThrough() async throws(LedgerError) -> CalendarDay? {
        try await translating {
            try await connection.only("SELECT max(closed_through)::text AS day FROM finance.closings")
                .decode("day", as: String?.self).flatMap { CalendarDay($0) }
        }
    }

    /// What was booked, sold and seen from a first day through a last that is closed, all of one snapshot.
    ///
    /// - Parameter app: the only app that it covers.
    public func statement(
        from first: CalendarDay, through last: CalendarDay, app: BundleID?
    ) async throws(LedgerError) -> Statement {
        try await reading {
            Statement(
                first: first, through: last, closedAt: try await closing(of: last),
                liability: try await table(.liability, first, last, app),
                sales: try await table(.sales, first, last, app),
                proceeds: try await table(.proceeds, first, last, app),
                differences: try await table(.differences, first, last, app))
        }
    }

    private func closing(of day: CalendarDay) async throws -> Date {
        try await connection.only(
            """
            SELECT min(as_of) AS closed_at FROM finance.closings WHERE closed_through >= \(day.description)::text::date
            """
        ).decode("closed_at")
    }

    private func table(
        _ source: StatementSource, _ first: CalendarDay, _ last: CalendarDay, _ app: BundleID?
    ) async throws -> StatementTable {
        let columns = source.columns
        let list = columns.map { $0.kind.selected($0.name) }.joined(separator: ", ")
        var rows: [[StatementValue]] = []
        try await connection.forEachRow(
            """
            SELECT \(unsafe: list)
            FROM \(unsafe: source.function)(\(first.description)::text::date, \(last.description)::text::date)
            WHERE bundle_id = coalesce(\(app?.text), bundle_id)
            """
        ) { row in
            rows.append(try columns.map { try $0.kind.value($0.name, row) })
        }
        return StatementTable(columns: columns.map(\.name), rows: rows)
    }
}

/// A function of the schema `finance` from which a statement is read.
struct StatementSource {
    enum Kind {
        case text, day, moment, whole, amount

        func selected(_ name: String) -> String {
            switch self {
            case .day: "\(name)::text"
            case .text, .moment, .whole, .amount: name
            }
        }

        func value(_ name: String, _ row: Row) throws -> StatementValue {
            switch self {
            case .text: try row.decode(name, as: String?.self).map { .text($0) } ?? .nothing
            case .day: try row.decode(name, as: String?.self).flatMap { CalendarDay($0) }.map { .day($0) } ?? .nothing
            case .moment: try row.decode(name, as: Date?.self).map { .moment($0) } ?? .nothing
            case .whole: try row.decode(name, as: Int?.self).map { .whole($0) } ?? .nothing
            case .amount: try row.decode(name, as: Decimal?.self).map { .amount($0) } ?? .nothing
            }
        }
    }

    let function: String
    let columns: [(name: String, kind: Kind)]

    static let liability = StatementSource(
        function: "finance.statement",
        columns: [("bundle_id", .text), ("product_id", .text), ("currency", .text)]
            + counted(["opening", "entered", "delivered"]) + [("by_support", .whole), ("redelivered", .whole)]
            + counted(["refunded", "dropped", "closing", "refunded_after", "reversed"]))

    static let sales = StatementSource(
        function: "finance.statement_sales",
        columns: [
            ("bundle_id", .text), ("product_id", .text), ("days", .whole), ("units_sold", .whole),
            ("units_seen", .whole),
            ("difference", .whole), ("refunds_sold", .whole), ("refunds_seen", .whole), ("refund_difference", .whole),
        ])

    static let proceeds = StatementSource(
        function: "finance.statement_proceeds",
        columns: [
            ("bundle_id", .text), ("product_id", .text), ("currency", .text), ("units", .whole), ("proceeds", .amount),
        ])

    static let differences = StatementSource(
        function: "finance.statement_differences",
        columns: [
            ("difference", .text), ("day", .day), ("bundle_id", .text), ("product_id", .text), ("storefront", .text),
            ("transaction_id", .text), ("units", .whole), ("currency", .text), ("amount", .amount),
            ("purchased_at", .moment), ("first_seen_at", .moment), ("booked_on", .day),
        ])

    /// How many, and how much.
    private static func counted(_ names: [String]) -> [(name: String, kind: Kind)] {
        names.flatMap { [($0, .whole), ("\($0)_amount", .amount)] }
    }
}
