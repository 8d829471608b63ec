import Foundation
import Ledger
import Reconciliation

/// The sweep: every white transaction past its grace is assessed and stored as a case.
struct Sweeper {
    let night: Night
    let session: LedgerSession

    /// Sweeps all apps. Gives how many transactions are cases, and how many are still within their grace.
    func sweep() async throws(LedgerError) -> (cases: Int, pending: Int) {
        let apps = night.settings.apps.map(\.app)
        var given = GivenOrders()
        var count = 0
        try await session.forEachPageOfFacts(of: apps, now: night.now) { page async throws(LedgerError) in
            let cases = page.map { given.assess($0) }
            count += cases.count
            checkpoint(.casesAssessed)
            try await patiently { () async throws(LedgerError) in
                try await session.store(cases, runID: night.runID, now: night.now)
            }
            checkpoint(.casesStored)
        }
        try await patiently { () async throws(LedgerError) in
            try await session.closeVanishedCases(runID: night.runID, now: night.now)
        }
        checkpoint(.casesClosed)
        return (count, try await session.pendingCount(of: apps, now: night.now))
    }
}

/// The orders that were matched to a transaction in this sweep: one order is never given to two. The oldest purchase
/// comes first, and so to the order that fits it best.
private struct GivenOrders {
    /// Hashes in place of ids, so that millions need little memory; two orders with one hash cost a match, no money.
    private var hashes: Set<Int> = []

    mutating func assess(_ facts: CaseFacts) -> AssessedCase {
        let bundleID = facts.key.bundleID
        let assessment = Assessment(of: facts) { hashes.contains(Self.hash($0, bundleID)) }
        if assessment.reasons.contains(.orderMatched), let order = assessment.orderIDs.first {
            hashes.insert(Self.hash(order, bundleID))
        }
        return AssessedCase(key: facts.key, assessment: assessment)
    }

    private static func hash(_ order: String, _ bundleID: BundleID) -> Int {
        var hasher = Hasher()
        hasher.combine(order)
        hasher.combine(bundleID)
        return hasher.finalize()
    }
}
