import Job
import Ledger
import Reconciliation
import Verification

/// What a report tells of all cases together, of what is no case, and of what is to be mended.
struct CaseFigures: Sendable {
    let counts: CaseCounts
    /// How many transactions for which a delivery is expected are still within their grace.
    let pending: Int
    /// Purchases that are paid and not looked at.
    let unjudged: [Unjudged]
    let patterns: [PatternFacts]
    let unpriced: [UnpricedProduct]
    let toMend: [SettingToMend]
}

/// Reads the figures of cases after a sweep. They don't depend on the books, so they are read while these are closed.
struct CaseFiguresReading: Sendable {
    let night: Night
    let swept: Sweeper.Swept

    func read(_ session: LedgerSession) async throws(LedgerError) -> CaseFigures {
        CaseFigures(
            counts: try await session.caseCounts(runID: night.runID),
            pending: try await session.pendingCount(swept.expected, toldUpTo: swept.told),
            unjudged: try await session.unjudged(swept.expected),
            patterns: try await session.patternFacts(now: night.now),
            unpriced: try await session.unpricedProducts(isOwedOnly: true),
            toMend: try await session.settingsToMend(night.settings.apps.map(\.app.bundleID)))
    }
}
