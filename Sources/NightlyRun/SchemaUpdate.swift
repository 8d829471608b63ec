import Ledger

/// Brings the database's schema up to date.
public enum SchemaUpdate {
    /// Applies the pending migrations, each in a transaction of its own, and gives their names.
    ///
    /// - Parameter isRehearsal: makes a database for replays of it.
    /// - Throws: `JobError.configuration` where a ledger that is to be one for replays holds something already.
    public static func migrate(database: String, isRehearsal: Bool = false) async throws(JobError) -> [String] {
        let isMarked: Bool
        let applied: [String]
        do {
            let session = try await LedgerSession.connect(LedgerSettings(database: database))
            defer { session.close() }
            applied = try await session.migrate()
            isMarked = isRehearsal ? try await session.markAsRehearsal() : true
        } catch {
            throw JobError(error)
        }
        guard isMarked else {
            throw .configuration(
                "This database holds a ledger already, and was not made for replays. Rehearse in a database of its own."
            )
        }
        return applied
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
