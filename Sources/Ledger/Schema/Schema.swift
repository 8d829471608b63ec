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
    /// The migration was not applied, though a later one was.
    case gap(Migration)
}

extension SchemaState {
    /// How these migrations stand to those that were applied, by number with the checksum of their text.
    static func comparing(_ known: [(migration: Migration, checksum: String)], with applied: [Int: String]) -> Self {
        if let unknown = Set(applied.keys).subtracting(known.map(\.migration.number)).max() {
            return .newer(unknown)
        }
        if let changed = known.first(where: { applied[$0.migration.number] ?? $0.checksum != $0.checksum }) {
            return .changed(changed.migration)
        }
        let pending = known.map(\.migration).filter { applied[$0.number] == nil }
        if let last = applied.keys.max(), let gap = pending.first(where: { $0.number < last }) {
            return .gap(gap)
        }
        return pending.isEmpty ? .current : .older(pending: pending)
    }
}

extension LedgerSession {
    /// How the database's schema stands to this program. Changes nothing.
    public func schemaState() async throws(LedgerError) -> SchemaState {
        guard let applied = try await appliedMigrations() else { return .missing }
        return .comparing(try await knownMigrations(), with: applied)
    }

    /// Opens a session on a database whose schema is the one that this program needs.
    ///
    /// - Throws: `LedgerError.schema`, with what to do, if it is not.
    public static func connectToCurrentSchema(_ settings: LedgerSettings) async throws(LedgerError) -> LedgerSession {
        let session = try await connect(settings)
        do {
            try await session.checkSchema()
        } catch {
            session.close()
            throw error
        }
        return session
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
        case .gap(let migration):
            throw .schema(
                """
                Migration \(migration.fileName) was never applied, though a later one was: restore iap.migrations \
                from a backup, or the schema with it.
                """)
        }
    }

    /// The checksums of the applied migrations; `nil` if there is no table of them.
    func appliedMigrations() async throws(LedgerError) -> [Int: String]? {
        try await translating {
            let table = try await connection.only(
                // By the catalogue's rows: to_regclass may answer from a cache that another session's commit outdated.
                """
                SELECT EXISTS (
                    SELECT FROM pg_catalog.pg_tables WHERE schemaname = 'iap' AND tablename = 'migrations'
                ) AS is_there
                """)
            guard try table.decode("is_there", as: Bool.self) else { return nil }
            return try await connection.query("SELECT number::bigint AS number, checksum FROM iap.migrations")
                .values(of: "checksum", by: "number")
        }
    }

    /// The migrations that this program has, with their checksums, computed by PostgreSQL.
    func knownMigrations() async throws(LedgerError) -> [(migration: Migration, checksum: String)] {
        try await translating {
            let rows = try await connection.query(
                """
                SELECT encode(sha256(convert_to(sql, 'UTF8')), 'hex') AS checksum
                FROM unnest(\(Migration.all.map(\.sql))) WITH ORDINALITY AS known (sql, number)
                ORDER BY number
                """)
            return zip(Migration.all, try rows.map { try $0.decode("checksum", as: String.self) }).map { ($0, $1) }
        }
    }
}
