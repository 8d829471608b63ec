import PostgreSQL

/// How the database's schema stands to what this program knows.
public enum SchemaState: Hashable, Sendable {
    case current
    /// There is no schema yet.
    case missing
    /// These migrations were not applied yet.
    case older(pending: [Migration])
    /// The database has a migration of that number, which this program does not know.
    case newer(Int)
    /// The migration was applied with another text than this program has.
    case changed(Migration)
}

extension LedgerSession {
    public func schemaState() async throws(LedgerError) -> SchemaState {
        let applied = try await appliedMigrations()
        guard let applied else { return .missing }
        if let unknown = applied.keys.filter({ number in !Migration.all.contains { $0.number == number } }).max() {
            return .newer(unknown)
        }
        let checksums = try await checksums()
        for migration in Migration.all {
            if let known = applied[migration.number], known != checksums[migration.number] {
                return .changed(migration)
            }
        }
        let pending = Migration.all.filter { applied[$0.number] == nil }
        return pending.isEmpty ? .current : .older(pending: pending)
    }

    /// Checks that the schema is the one that this program needs.
    ///
    /// - Throws: `LedgerError.schema`, with what to do.
    public func checkSchema() async throws(LedgerError) {
        switch try await schemaState() {
        case .current: return
        case .missing:
            throw .schema("The database has no schema iap yet: run “iap-reconcile migrate” as its owner.")
        case .older(let pending):
            let names = pending.map(\.fileName).joined(separator: ", ")
            throw .schema("The schema is older than this program (\(names) missing): run “iap-reconcile migrate”.")
        case .newer(let number):
            throw .schema(
                "The schema is newer than this program (migration \(number)): install the program that made it so.")
        case .changed(let migration):
            throw .schema(
                "Migration \(migration.fileName) was applied with another text: this program is of another line.")
        }
    }

    /// Applies what is pending, each migration in a transaction of its own. Gives their names.
    public func migrate() async throws(LedgerError) -> [String] {
        let pending: [Migration]
        switch try await schemaState() {
        case .missing: pending = Migration.all
        case .older(let missing): pending = missing
        case .current, .newer, .changed:
            try await checkSchema()
            return []
        }
        for migration in pending {
            try await apply(migration)
        }
        return pending.map(\.fileName)
    }

    private func apply(_ migration: Migration) async throws(LedgerError) {
        try await translating {
            try await connection.transaction {
                // Two that migrate at once: the second waits, and then finds the row there.
                try await connection.execute("SET LOCAL lock_timeout = 0")
                let (job, number) = LedgerLock.migration
                _ = try await connection.query("SELECT pg_advisory_xact_lock(\(job), \(number))")
                if try await isApplied(migration) { return }
                try await connection.executeScript(unsafe: migration.sql)
                try await connection.execute(
                    """
                    INSERT INTO iap.migrations (number, name, checksum)
                    VALUES (
                        \(Int32(migration.number)), \(migration.name),
                        encode(sha256(convert_to(\(migration.sql), 'UTF8')), 'hex'))
                    """)
            }
        }
    }

    private func isApplied(_ migration: Migration) async throws -> Bool {
        guard let applied = try await appliedMigrations() else { return false }
        return applied[migration.number] != nil
    }

    /// The checksums of the applied migrations; nothing where there is no table of them.
    private func appliedMigrations() async throws(LedgerError) -> [Int: String]? {
        try await translating {
            let table = try await connection.only("SELECT to_regclass('iap.migrations') IS NOT NULL AS is_there")
            guard try table.decode("is_there", as: Bool.self) else { return nil }
            let rows = try await connection.query("SELECT number, checksum FROM iap.migrations")
            return try Dictionary(
                rows.map { (Int(try $0.decode("number", as: Int32.self)), try $0.decode("checksum", as: String.self)) },
                uniquingKeysWith: { first, _ in first })
        }
    }

    /// The checksums of the migrations that this program has, reckoned by PostgreSQL.
    private func checksums() async throws(LedgerError) -> [Int: String] {
        try await translating {
            let rows = try await connection.query(
                """
                SELECT number, encode(sha256(convert_to(sql, 'UTF8')), 'hex') AS checksum
                FROM unnest(\(Migration.all.map(\.number)), \(Migration.all.map(\.sql))) AS known (number, sql)
                """)
            return try Dictionary(
                rows.map { (try $0.decode("number", as: Int.self), try $0.decode("checksum", as: String.self)) },
                uniquingKeysWith: { first, _ in first })
        }
    }
}
