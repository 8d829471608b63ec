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

    let context: RunContext
    let swept: Sweeper.Swept

    func read(_ session: LedgerSession) async throws(LedgerError) -> Figures {
        Figures(
            cases: try await CaseFigures(
                session, runID: context.runID, now: context.now, apps: context.settings.apps.map(\.app),
                expected: swept.expected),
            pending: try await session.pendingCount(swept.expected, toldUpTo: swept.told))
    }
}
