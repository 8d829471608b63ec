import PostgreSQL

extension LedgerSession {
    /// Checks that the sequence by which entries, moves and events are numbered is not behind what the books hold.
    /// Logical replication leaves sequences where they were, and the chain never covers what is then given a number
    /// that was used before.
    ///
    /// - Throws: `LedgerError.schema` if it is behind.
    public func checkTrailNumbers() async throws(LedgerError) {
        try await translating {
            let row = try await connection.only(
                """
                SELECT
                    coalesce((SELECT upto FROM audit.links ORDER BY position DESC LIMIT 1), 0) AS upto,
                    coalesce(pg_sequence_last_value('iap.trail'::regclass), 0) AS drawn
                """)
            let upto: Int64 = try row.decode("upto")
            let drawn: Int64 = try row.decode("drawn")
            guard drawn < upto else { return }
            throw LedgerError.schema(
                """
                The sequence iap.trail stands at \(drawn), and the books are closed up to number \(upto): the tables \
                came here without their sequences. Set these before anybody writes: see “Move to another server” in \
                docs/operate.md.
                """)
        }
    }
}
