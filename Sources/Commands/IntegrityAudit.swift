public import Job
import Ledger
public import Reconciliation

/// Looks at everything that must always hold of the tables, outside of any run.
public struct IntegrityAudit: Sendable {
    private let settings: JobSettings

    public init(settings: JobSettings) {
        self.settings = settings
    }

    /// Makes every check, and writes nothing. No check has a time limit of its own: over years of deliveries some take
    /// minutes.
    ///
    /// - Parameters:
    ///   - end: an end of the chain that was kept outside of the database.
    ///   - body: is told of each check as soon as it is done.
    /// - Returns: how far the chain reaches, and whether it continues that end.
    public func verify(
        since end: String? = nil, _ body: (IntegrityFinding) -> Void
    ) async throws(JobError) -> (trail: AuditTrail, isContinued: Bool) {
        try await withLedger(LedgerSettings(database: settings.database)) { session async throws(LedgerError) in
            try await session.verify(since: end, body)
        }
    }
}
