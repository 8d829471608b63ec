import PostgreSQL

extension LedgerSession {
    /// Lets the planner look at what has grown by a fifth since it looked last: between two rounds of autovacuum it
    /// takes a table for as small as it was, and a night may bring more than there ever was. A dry run leaves that
    /// alone.
    public func analyzeGrown() async throws(LedgerError) {
        guard !isShadowed else { return }
        try await translating { _ = try await connection.query("SELECT iap.analyze_grown()") }
    }
}
