import PostgreSQL

extension LedgerSession {
    /// Runs the body on one snapshot of the ledger, which it only reads.
    public func reading<Result>(_ body: () async throws -> Result) async throws(LedgerError) -> Result {
        try await translating {
            try await connection.transaction(.repeatableRead, readOnly: true, body)
        }
    }
}
