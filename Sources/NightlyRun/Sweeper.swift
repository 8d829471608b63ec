import Job
import Foundation
import Ledger
import Reconciliation
import Verification

/// The sweep: every white transaction past its grace is assessed and stored as a case.
struct Sweeper {
    let night: Night
    let session: LedgerSession

    struct Swept {
        /// How many transactions are cases, and how many are still within their grace.
        var cases = 0
        var pending = 0
        /// Those that another session has locked: their cases stay as they are.
        var locked: [TransactionID] = []
        /// What is paid and not looked at.
        var unjudged: [Unjudged] = []
    }

    /// Sweeps all apps.
    func sweep() async throws(LedgerError) -> Swept {
        let apps = night.settings.apps.map(\.app)
        try await session.noteConnections()
        let deliveries = try await session.expectedDeliveries(of: apps)
        try await session.coverEntitled(runID: night.runID, now: night.now)
        let told = try await toldUpTo()
        var given = GivenOrders()
        var swept = Swept()
        var left: [AssessedCase] = []
        try await session.forEachPageOfFacts(
            of: apps, expecting: deliveries, toldUpTo: told, now: night.now
        ) { page async throws(LedgerError) in
            let cases = page.map { given.assess($0) }
            swept.cases += cases.count
            checkpoint(.casesAssessed)
            left += try await store(cases)
            checkpoint(.casesStored)
        }
        left = try await storeAgain(left)
        try await session.withdrawCases(expecting: deliveries, runID: night.runID, now: night.now)
        checkpoint(.casesClosed)
        _ = try await orderRedeliveries(of: apps)
        swept.locked = left.map(\.key.id)
        swept.pending = try await session.pendingCount(deliveries, toldUpTo: told)
        swept.unjudged = try await session.unjudged(deliveries)
        return swept
    }

    /// What the cases are sure of the apps' servers deliver without the customer, where they want that.
    private func orderRedeliveries(of apps: [App]) async throws(LedgerError) -> Int {
        try await retryingConflicts(for: min(10, night.settings.patience)) { () async throws(LedgerError) in
            try await session.orderRedeliveries(of: apps, runID: night.runID, now: night.now)
        }
    }

    /// Up to when it is known what was delivered: now, or where sources tell of it when they were last pulled to their
    /// end.
    private func toldUpTo() async throws(LedgerError) -> Date {
        let sources = night.settings.sources.filter(\.tellsOfDeliveries).map(\.name)
        guard !sources.isEmpty else { return night.now }
        return min(night.now, try await session.toldUpTo(sources) ?? .distantPast)
    }

    /// Gives those whose transaction another session has locked.
    private func store(_ cases: [AssessedCase]) async throws(LedgerError) -> [AssessedCase] {
        let locked = try await retryingConflicts(for: min(10, night.settings.patience)) {
            () async throws(LedgerError) in
            try await session.store(cases, runID: night.runID, now: night.now)
        }
        guard !locked.isEmpty else { return [] }
        let ids = Set(locked)
        return cases.filter { ids.contains($0.key.id) }
    }

    /// A claim takes milliseconds: what is locked for longer is left to the next night.
    private func storeAgain(_ cases: [AssessedCase]) async throws(LedgerError) -> [AssessedCase] {
        var backoff = DatabaseBackoff(within: min(2, night.settings.patience), pause: 0.1...0.1)
        var left = cases
        while !left.isEmpty, await backoff.mayTryAgain() { left = try await store(left) }
        return left
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
        return AssessedCase(
            key: facts.key, assessment: assessment, periods: facts.subscription?.periods.map(\.id) ?? [])
    }

    private static func hash(_ order: String, _ bundleID: BundleID) -> Int {
        var hasher = Hasher()
        hasher.combine(order)
        hasher.combine(bundleID)
        return hasher.finalize()
    }
}
