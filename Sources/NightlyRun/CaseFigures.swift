import Job
import Ledger
import Reconciliation
import Verification

/// What a report tells of all cases together, of what is none, and of what is to be mended.
struct CaseFigures: Sendable {
    let counts: CaseCounts
    /// How many transactions of which a delivery is expected are still within their grace.
    let pending: Int
    /// What is paid and not looked at.
    let unjudged: [Unjudged]
    let patterns: [PatternFacts]
    let unpriced: [UnpricedProduct]
    let toMend: [SettingToMend]
}

/// Reads the figures of cases after a sweep. They hang on nothing of the books, and so are read beside their closing.
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
