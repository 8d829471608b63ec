import Job
import Ledger
import Reconciliation
import Verification

/// Reads what the report tells of a sweep. It does not depend on the books, so it is read while these are closed.
struct SweptReading: Sendable {
    struct Figures: Sendable {
        let cases: CaseFigures
        /// How many transactions for which a delivery is expected are still within their grace.
        let pending: Int
    }

    let night: Night
    let swept: Sweeper.Swept

    func read(_ session: LedgerSession) async throws(LedgerError) -> Figures {
        Figures(
            cases: try await CaseFigures(
                session, runID: night.runID, now: night.now, apps: night.settings.apps.map(\.app),
                expected: swept.expected),
            pending: try await session.pendingCount(swept.expected, toldUpTo: swept.told))
    }
}
