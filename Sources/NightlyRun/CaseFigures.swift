import Foundation
import Ledger
import Reconciliation

/// What a report tells of all cases together, of what is no case, and of what is to be mended.
struct CaseFigures: Sendable {
    let counts: CaseCounts
    /// Purchases that are paid and not looked at.
    let unjudged: [Unjudged]
    let patterns: [PatternFacts]
    let unpriced: [UnpricedProduct]
    let toMend: [SettingToMend]

    /// The figures as the last sweep left them.
    init(
        _ session: LedgerSession, runID: Int64, now: Date, apps: [App], expected: [ExpectedDelivery]
    ) async throws(LedgerError) {
        counts = try await session.caseCounts(runID: runID)
        unjudged = try await session.unjudged(expected)
        patterns = try await session.patternFacts(now: now)
        unpriced = try await session.unpricedProducts(isOwedOnly: true)
        toMend = try await session.settingsToMend(apps.map(\.bundleID))
    }
}

extension RunReport {
    mutating func take(_ figures: CaseFigures) {
        cases = figures.counts
        unjudged = figures.unjudged
        unpriced = figures.unpriced
        toMend = figures.toMend
        take(figures.patterns)
    }
}
