import PostgreSQL
import Reconciliation

extension Row {
    /// A validated id of Apple's; the database holds none that is not.
    func id<Kind: IDKind>(_ column: String) throws -> TextID<Kind> {
        try id(try decode(column, as: String.self), in: column)
    }

    /// Validated ids of Apple's; none for NULL.
    func ids<Kind: IDKind>(_ column: String) throws -> [TextID<Kind>] {
        try (try decode(column, as: [String]?.self) ?? []).map { try id($0, in: column) }
    }

    private func id<Kind: IDKind>(_ text: String, in column: String) throws -> TextID<Kind> {
        guard let id = TextID<Kind>(text) else {
            throw LedgerError.failed("\(place(of: column)) holds what is no id of Apple's; mend or remove the row")
        }
        return id
    }

    /// `nil` if either is NULL.
    func money(_ milliunits: String, _ currency: String) throws -> Money? {
        guard let amount = try decode(milliunits, as: Int64?.self),
            let text = try decode(currency, as: String?.self)
        else { return nil }
        return Money(milliunits: amount, currency: try self.currency(text, in: currency))
    }

    func currency(_ text: String, in column: String) throws -> CurrencyCode {
        guard let code = CurrencyCode(text) else {
            throw LedgerError.failed("\(place(of: column)) holds what is no currency's code; mend the row")
        }
        return code
    }

    /// A day that the query wrote as text.
    func day(_ column: String) throws -> CalendarDay {
        guard let day = CalendarDay(try decode(column, as: String.self)) else {
            throw LedgerError.failed("\(place(of: column)) holds no day of the calendar; mend or remove the row")
        }
        return day
    }
}

extension TransactionKey {
    init(_ row: Row) throws {
        self.init(
            id: try row.id("transaction_id"), bundleID: try row.id("bundle_id"),
            environment: try row.word("environment"))
    }
}

extension [Row] {
    /// One column's values by those of another, which are unique.
    func values<Key, Value>(of column: String, by key: String) throws -> [Key: Value]
    where Key: ColumnValue & Hashable, Value: ColumnValue {
        try Dictionary(map { (try $0.decode(key), try $0.decode(column)) }, uniquingKeysWith: { first, _ in first })
    }
}
