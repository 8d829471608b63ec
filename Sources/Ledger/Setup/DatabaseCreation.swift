import PostgreSQL

extension LedgerSession {
    /// Whether the server has a database of this name.
    public func hasDatabase(_ name: String) async throws(LedgerError) -> Bool {
        try await translating {
            try await connection.only(
                "SELECT EXISTS (SELECT FROM pg_catalog.pg_database WHERE datname = \(name)) AS is_there"
            ).decode("is_there")
        }
    }

    /// Makes a database that can hold every text that clients upload.
    public func createDatabase(_ name: String) async throws(LedgerError) {
        try await translating {
            _ = try await connection.execute("CREATE DATABASE \(identifier: name) ENCODING 'UTF8' TEMPLATE template0")
        }
    }
}
