public import Foundation
import Ledger
public import Reconciliation

/// What is taken away outside of any run.
public struct RetentionDesk: Sendable {
    private let settings: JobSettings
    private let now: Date

    /// - Parameter settings: its database is the one that the command may use.
    public init(settings: JobSettings, now: Date = Date()) {
        self.settings = settings
        self.now = now
    }

    /// Takes away all that need not be kept any longer, or only counts it. A purge that is stopped is simply begun
    /// again.
    public func purge(isDryRun: Bool, stop: StopSignal) async throws(JobError) -> Purged {
        try await connected { session async throws(LedgerError) in
            if isDryRun { return try await session.countPurgeable(settings.retention, now: now) }
            let purged = try await Purger(
                session: session, retention: settings.retention, now: now, stop: stop
            ).purge()
            if purged.total > 0 { try await session.notePurge(purged, runID: nil, now: now) }
            return purged
        }
    }

    /// Erases a user.
    ///
    /// - Throws: `JobError.anotherRun` while a run is under way.
    public func erase(_ erasure: Erasure) async throws(JobError) -> ErasureOutcome {
        do {
            return try await connected { session async throws(LedgerError) in
                try await session.erase(erasure)
            }
        } catch .databaseRefuses(let text) {
            throw .databaseRefuses(
                "\(text); role iap_privacy may erase: name its login with “privacy_conninfo” in [database]")
        }
    }

    private func connected<Value>(
        _ body: (LedgerSession) async throws(LedgerError) -> Value
    ) async throws(JobError) -> Value {
        do {
            let session = try await LedgerSession.connectToCurrentSchema(
                LedgerSettings(database: settings.database, statementTimeout: settings.statementTimeout))
            defer { session.close() }
            return try await body(session)
        } catch {
            if case .conflict(let text) = error {
                throw .anotherRun("Nothing was changed: \(text). Try again when it has ended.")
            }
            throw JobError(error)
        }
    }
}
