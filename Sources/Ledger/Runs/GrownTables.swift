import PostgreSQL

extension LedgerSession {
    /// Lets the planner look at what has grown by a fifth since it looked last: between two rounds of autovacuum it
    /// takes a table for as small as it was, and a night may bring more than there ever was. A dry run leaves that
    /// alone, and has it look at its shadows, which autovacuum never does: it would read all that is white of an app
    /// for each product that is bought once.
    public func analyzeGrown() async throws(LedgerError) {
        try await translating {
            if isShadowed {
                try await connection.executeScript(unsafe: Self.analyzingShadows)
            } else {
                _ = try await connection.query("SELECT iap.analyze_grown()")
            }
        }
    }

    /// By as small a sample as `iap.analyze_grown` takes.
    private static let analyzingShadows =
        "SET default_statistics_target = 25; ANALYZE "
        + StoredTable.alike.map { "pg_temp.\($0.rawValue)" }.joined(separator: ", ")
}
