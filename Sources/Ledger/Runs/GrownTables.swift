import PostgreSQL

extension LedgerSession {
    /// Lets the planner look at what has grown by a fifth since it looked last: between two rounds of autovacuum it takes
    /// a table for as small as it was, and a night may bring more than there ever was. A dry run leaves that alone.
    ///
    /// - Returns: the tables it was let look at.
    public func analyzeGrown() async throws(LedgerError) -> [String] {
        guard !isShadowed else { return [] }
        return try await translating {
            try await connection.only("SELECT iap.analyze_grown() AS tables").decode("tables")
        }
    }
}
