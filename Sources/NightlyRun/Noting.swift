import Foundation
import Job
import Ledger
import Reconciliation
import Verification

/// Notes customers and prices of what entered the ledger and was closed in the books, for later nights to ask about and to
/// compare with: over a connection of its own, while the run looks at what it found.
struct Noting: Sendable {
    let apps: [AppSettings]
    let ledger: LedgerSettings
    /// Seconds for which the database, or another session's lock, is waited for.
    let patience: TimeInterval
    let now: Date

    /// Gives whether it was noted; not where the server has no connection free.
    func note() async throws -> Bool {
        guard let session = try? await LedgerSession.connect(ledger) else { return false }
        defer { session.close() }
        for app in apps {
            try await retrying(patience: patience, regain: { _ in try await session.reconnect(within: patience) }) {
                try await note(app, in: session)
            }
        }
        return true
    }

    func note(_ app: AppSettings, in session: LedgerSession) async throws(LedgerError) {
        try await session.noteEntered(of: app.app, askedEvery: app.reasking?.interval, at: now)
    }
}
