import PostgreSQL
import Reconciliation

extension Row {
    /// A validated id of Apple's; the database holds none that is not.
    func id<Kind: IDKind>(_ column: String) throws -> TextID<Kind> {
        guard let id = TextID<Kind>(try decode(column, as: String.self)) else {
            throw LedgerError.failed("\(column) holds what is no id of Apple's; mend or remove the row")
        }
        return id
    }

    func money(_ milliunits: String, _ currency: String) throws -> Money? {
        guard let amount = try decode(milliunits, as: Int64?.self),
            let code = try decode(currency, as: String?.self).flatMap(CurrencyCode.init)
        else { return nil }
        return Money(milliunits: amount, currency: code)
    }

    /// A day that the query wrote as text.
    func day(_ column: String) throws -> CalendarDay {
        guard let day = CalendarDay(try decode(column, as: String.self)) else {
            throw LedgerError.failed("\(column) holds no day of the calendar")
        }
        return day
    }
}

extension TransactionKey {
    init(_ row: Row) throws {
        let name = try row.decode("environment", as: String.self)
        guard let environment = Environment(rawValue: name) else {
            throw LedgerError.failed("no environment is called \(name)")
        }
        self.init(id: try row.id("transaction_id"), bundleID: try row.id("bundle_id"), environment: environment)
    }
}
