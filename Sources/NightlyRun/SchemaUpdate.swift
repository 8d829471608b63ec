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
            return try await session.pendingSQL()
        } catch {
            throw JobError(error)
        }
    }
}
