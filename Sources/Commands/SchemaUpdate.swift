public import Job
import Ledger

/// Brings the database's schema up to date.
public enum SchemaUpdate {
    /// Applies the pending migrations, each in a transaction of its own, and gives their names.
    ///
    /// - Parameter isRehearsal: whether the database becomes one for replays.
    /// - Throws: `JobError.configuration` if a ledger that is to be one for replays holds something already.
    public static func migrate(database: String, isRehearsal: Bool = false) async throws(JobError) -> [String] {
        let (applied, isMarked) = try await withLedger(
            LedgerSettings(database: database), isCurrent: false, explained: Self.explained
        ) { session async throws(LedgerError) in
            (try await session.migrate(), isRehearsal ? try await session.markAsRehearsal() : true)
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
        try await withLedger(
            LedgerSettings(database: database), isCurrent: false, explained: Self.explained
        ) { session async throws(LedgerError) in try await session.pendingSQL() }
    }

    /// The job's own login, which is asked where no other is named, makes no tables.
    private static func explained(_ error: LedgerError) -> JobError {
        switch error {
        case .refused(let text), .forbidden(let text):
            .databaseRefuses("\(text); migrate works as the schema's owner: name its login with “owner_conninfo”")
        default: JobError(error)
        }
    }
}
