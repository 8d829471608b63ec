import PostgreSQL

/// The files by which a server decides who may log in (PostgreSQL's documentation, "Client Authentication").
public struct LoginFiles: Sendable {
    /// `pg_hba.conf`.
    public let rules: String
    /// `pg_ident.conf`.
    public let names: String
}

extension LedgerSession {
    /// Where the files are, on the server's machine.
    public func loginFiles() async throws(LedgerError) -> LoginFiles {
        try await translating {
            let row = try await connection.only(
                "SELECT current_setting('hba_file') AS rules, current_setting('ident_file') AS names")
            return LoginFiles(rules: try row.decode("rules"), names: try row.decode("names"))
        }
    }

    /// What the server can't understand in the files as they are now, before it is told to read them.
    public func loginFileErrors() async throws(LedgerError) -> [String] {
        try await translating {
            try await connection.query(
                """
                SELECT format('line %s of pg_hba.conf: %s', line_number, error) AS error
                FROM pg_hba_file_rules
                WHERE error IS NOT NULL
                UNION ALL
                SELECT format('line %s of pg_ident.conf: %s', line_number, error)
                FROM pg_ident_file_mappings
                WHERE error IS NOT NULL
                """
            ).map { try $0.decode("error", as: String.self) }
        }
    }

    /// Lets the server read its files again, which it does soon afterwards.
    public func reloadLoginFiles() async throws(LedgerError) {
        try await translating { _ = try await connection.query("SELECT pg_reload_conf()") }
    }

    /// Gives a role a password, of which the server sees no more than it keeps.
    public func setPassword(_ password: String, of role: String) async throws(LedgerError) {
        try await translating {
            let kept = try connection.encryptedPassword(password, of: role)
            let statement = try await connection.only(
                "SELECT format('ALTER ROLE %I PASSWORD %L', \(role), \(kept)) AS statement")
            try await connection.executeScript(unsafe: try statement.decode("statement"))
        }
    }
}
