import PostgreSQL

extension LedgerSession {
    /// Applies what is pending, each migration in a transaction of its own. Gives the names of their files, without
    /// those that another session applied meanwhile.
    ///
    /// - Throws: `LedgerError.schema` when the database has a schema that can't become this program's.
    public func migrate() async throws(LedgerError) -> [String] {
        try await checkEncoding()
        var applied: [String] = []
        for migration in try await pendingMigrations() where try await apply(migration) {
            applied.append(migration.fileName)
        }
        return applied
    }

    /// What `migrate` would do, to be read, or to be run by hand with psql: each migration in its transaction, with
    /// its row in `iap.migrations`. Empty when nothing is pending.
    ///
    /// - Throws: `LedgerError.schema` when the database has a schema that can't become this program's.
    public func pendingSQL() async throws(LedgerError) -> String {
        let pending = Set(try await pendingMigrations().map(\.number))
        return try await knownMigrations().filter { pending.contains($0.migration.number) }
            .map { migration, checksum in
                """
                -- \(migration.fileName)
                BEGIN;
                \(migration.number == 1 ? "\(Self.makesOnCoordinator);\n" : "")
                \(migration.sql)
                INSERT INTO iap.migrations (number, name, checksum)
                VALUES (\(migration.number), '\(migration.name)', '\(checksum)');

                COMMIT;

                """
            }
            .joined(separator: "\n")
    }

    /// Citus would make the schema's objects on its workers, as far as it can, before anything is distributed. What
    /// `sql/citus.sql` distributes brings along what it needs. Without Citus the setting has no effect.
    private static let makesOnCoordinator = "SET LOCAL citus.enable_ddl_propagation TO off"

    /// - Throws: `LedgerError.schema` if the database can't hold every text that clients upload.
    public func checkEncoding() async throws(LedgerError) {
        let encoding = try await translating {
            try await connection.only("SELECT current_setting('server_encoding') AS name").decode(
                "name", as: String.self)
        }
        guard encoding != "UTF8" else { return }
        throw .schema(
            "the database is in \(encoding) and can't hold every text that clients upload; make one with CREATE DATABASE "
                + "… ENCODING 'UTF8' TEMPLATE template0")
    }

    /// A company's own database may well have a schema finance or audit.
    ///
    /// - Throws: `LedgerError.schema` if another's schema bears one of the names that this program needs.
    public func checkNames() async throws(LedgerError) {
        let taken = try await translating {
            try await connection.query(
                """
                SELECT nspname::text AS name
                FROM pg_catalog.pg_namespace
                WHERE nspname IN ('iap', 'finance', 'audit')
                ORDER BY nspname
                """
            ).map { try $0.decode("name", as: String.self) }
        }
        guard !taken.isEmpty else { return }
        throw .schema(
            "The database has a schema \(taken.joined(separator: " and a schema ")) already, and no ledger. This "
                + "program makes iap, finance and audit itself: rename what is there, drop it if it is empty, or use "
                + "another database.")
    }

    private func pendingMigrations() async throws(LedgerError) -> [Migration] {
        switch try await schemaState() {
        case .current: return []
        case .missing: return Migration.all
        case .older(let pending): return pending
        case .newer, .changed, .gap:
            try await checkSchema()
            return []
        }
    }

    private func apply(_ migration: Migration) async throws(LedgerError) -> Bool {
        try await translating {
            try await connection.transaction {
                // If two migrate at once, the second waits, however long, and then finds the row there.
                try await connection.execute("SET LOCAL lock_timeout = 0")
                let (job, number) = LedgerLock.migration
                _ = try await connection.query("SELECT pg_advisory_xact_lock(\(job), \(number))")
                if let applied = try await appliedMigrations(), applied[migration.number] != nil { return false }
                if migration.number == 1 {
                    try await checkNames()
                    try await connection.executeScript(unsafe: Self.makesOnCoordinator)
                }
                try await connection.executeScript(unsafe: migration.sql)
                try await connection.execute(
                    """
                    INSERT INTO iap.migrations (number, name, checksum)
                    VALUES (
                        \(Int32(migration.number)), \(migration.name),
                        encode(sha256(convert_to(\(migration.sql), 'UTF8')), 'hex'))
                    """)
                return true
            }
        }
    }
}
