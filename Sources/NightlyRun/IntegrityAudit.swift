import Ledger
public import Reconciliation

/// Looks at everything that must always hold of the tables, outside of any run.
public struct IntegrityAudit: Sendable {
    private let settings: JobSettings

    public init(settings: JobSettings) {
        self.settings = settings
    }

    /// Writes nothing. No check has a time limit of its own: over years of deliveries some take minutes.
    ///
    /// - Parameter body: is told of each check as soon as it is done.
    public func verify(_ body: (IntegrityFinding) -> Void) async throws(JobError) -> AuditTrail {
        do {
            let session = try await LedgerSession.connectToCurrentSchema(LedgerSettings(database: settings.database))
            defer { session.close() }
            return try await session.verify(body)
        } catch {
            throw JobError(error)
        }
    }
}
