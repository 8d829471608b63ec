import Job
import Ledger
import Reconciliation
import Verification

extension RunContext {
    /// Notes customers and prices of what entered the ledger and was closed in the books, for later nights to ask about
    /// and to compare with. If this is done once more, an app that was noted is not noted again.
    func noteEntered(_ session: LedgerSession) async throws(LedgerError) {
        for app in settings.apps {
            try await session.noteEntered(of: app.app, reasking: settings.reasking(of: app), at: now)
        }
    }
}
