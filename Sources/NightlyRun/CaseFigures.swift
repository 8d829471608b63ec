import Job
import Ledger
import Reconciliation
import Verification

/// What a report tells of all cases together, and of what is to be mended.
struct CaseFigures: Sendable {
    let counts: CaseCounts
    let patterns: [PatternFacts]
    let unpriced: [UnpricedProduct]
    let toMend: [SettingToMend]
}

extension Night {
    /// Hangs on nothing of the books, and so is read beside their closing.
    func caseFigures(_ session: LedgerSession) async throws(LedgerError) -> CaseFigures {
        CaseFigures(
            counts: try await session.caseCounts(runID: runID), patterns: try await session.patternFacts(now: now),
            unpriced: try await session.unpricedProducts(isOwedOnly: true),
            toMend: try await session.settingsToMend(settings.apps.map(\.app.bundleID)))
    }
}
