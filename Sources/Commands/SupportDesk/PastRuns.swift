public import Job
import Ledger
public import Reconciliation

/// What happened since: the nights, and how two of them differ.
public struct PastRuns: Sendable {
    private let settings: JobSettings

    public init(settings: JobSettings) {
        self.settings = settings
    }

    /// The runs of so many days up to the latest, the oldest first.
    public func list(days: Int) async throws(JobError) -> [PastRun] {
        try await withLedger(settings.ledger, explained: SupportDesk.explained) { session async throws(LedgerError) in
            try await session.pastRuns(days: days)
        }
    }

    /// How the cases after a run differ from those after an earlier one.
    ///
    /// - Throws: `JobError.notFound` if a run is not known to have ended.
    public func differences(from: Int64, to: Int64) async throws(JobError) -> CaseDifferences {
        let found = try await withLedger(settings.ledger, explained: SupportDesk.explained) {
            session async throws(LedgerError) in
            try await session.differences(from: from, to: to)
        }
        guard let found else {
            throw .notFound(
                "Runs \(from) and \(to) are not both known to have ended; “iap-reconcile history” lists them.")
        }
        return found
    }
}
