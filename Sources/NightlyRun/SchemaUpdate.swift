import Ledger

/// Brings the database's schema up to date.
public enum SchemaUpdate {
    /// Applies the pending migrations, each in a transaction of its own, and gives their names.
    public static func migrate(database: String) async throws(JobError) -> [String] {
        do {
            let session = try await LedgerSession.connect(LedgerSettings(database: database))
            defer { session.close() }
            return try await session.migrate()
        } catch {
            throw JobError(error)
        }
    }

    /// The SQL of the pending migrations, to be read or applied by hand.
    public static func pendingSQL(database: String) async throws(JobError) -> String {
        do {
            let session = try await LedgerSession.connect(LedgerSettings(database: database))
            defer { session.close() }
            switch try await session.schemaState() {
            case .current: return ""
            case .missing: return text(of: Migration.all)
            case .older(let pending): return text(of: pending)
            case .newer, .changed:
                try await session.checkSchema()
                return ""
            }
        } catch {
            throw JobError(error)
        }
    }

    private static func text(of migrations: [Migration]) -> String {
        migrations.map { "-- \($0.fileName)\n\n\($0.sql)" }.joined(separator: "\n")
    }
}
