import Foundation
public import Job
import Ledger
public import Reconciliation

/// What is taken away outside of any run.
public struct RetentionDesk: Sendable {
    private let settings: JobSettings

    /// - Parameter settings: its database is the one that the command may use.
    public init(settings: JobSettings) {
        self.settings = settings
    }

    /// Takes away all that need not be kept any longer, or only counts it. A purge that is stopped is simply begun
    /// again.
    ///
    /// - Throws: `JobError.configuration` if this host's clock and PostgreSQL's are hours apart: one of them would have
    ///   it purge what is to be kept.
    public func purge(
        isDryRun: Bool, asOf: AsOf = .clock, stop: StopSignal
    ) async throws(JobError) -> Purged {
        let now = try await present(asOf)
        var purged = Purged()
        return try await withLedger(settings.ledger, explained: { Self.explained($0, after: purged) }) {
            session async throws(LedgerError) in
            if isDryRun { return try await session.countPurgeable(settings.retention, now: now) }
            try await Purger(session: session, retention: settings.retention, now: now, stop: stop)
                .purge(into: &purged)
            return purged
        }
    }

    /// Erases a user.
    ///
    /// - Throws: `JobError.anotherRun` while a run is under way.
    public func erase(_ erasure: Erasure) async throws(JobError) -> ErasureOutcome {
        try await connected(as: .privacy) { session async throws(LedgerError) in
            try await session.erase(erasure)
        }
    }

    private func present(_ asOf: AsOf) async throws(JobError) -> Date {
        var time = try await connected { session async throws(LedgerError) in try await session.time() }
        // A purge does not depend on the moments that runs were as of.
        time.latest = nil
        return try Present(asOf, time).moment
    }

    /// A purge is committed batch by batch: a lock stops it in the middle, and so does a database that goes away.
    private static func explained(_ error: LedgerError, after purged: Purged) -> JobError {
        if case .conflict(let text) = error { return interrupted(text) }
        guard purged.total > 0, JobError(interruptedBy: error) != nil else { return JobError(error, workingAs: .job) }
        return interrupted(error.description)
    }

    private static func interrupted(_ text: String) -> JobError {
        .interrupted("\(text.sentence) What was purged before is gone; purge again to take the rest.")
    }

    private static func explained(_ error: LedgerError, workingAs role: LoginRole) -> JobError {
        guard case .conflict(let text) = error else { return JobError(error, workingAs: role) }
        return .anotherRun("Nothing was changed: \(text.sentence) Try again when it has ended.")
    }

    private func connected<Value>(
        as role: LoginRole = .job, _ body: (LedgerSession) async throws(LedgerError) -> Value
    ) async throws(JobError) -> Value {
        try await withLedger(settings.ledger, explained: { Self.explained($0, workingAs: role) }, body)
    }
}
