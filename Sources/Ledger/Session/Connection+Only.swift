import PostgreSQL

extension Connection {
    /// The one row of a query that always gives one.
    func only(_ sql: SQL) async throws -> Row {
        let rows = try await query(sql)
        guard let row = rows.first, rows.count == 1 else {
            throw LedgerError.failed("a query that gives one row gave \(rows.count)")
        }
        return row
    }
}
