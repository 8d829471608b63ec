import Foundation
import Job
import Ledger
import Reconciliation
import Verification

/// The sweep: every white transaction past its grace is assessed and stored as a case.
struct Sweeper {
    let context: RunContext
    let session: LedgerSession
    /// The connection over which cases are stored meanwhile; none in a dry run, whose shadows no other connection sees.
    let beside: Beside?

    struct Swept {
        /// How many transactions are cases.
        var cases = 0
        /// Those that another session has locked: their cases stay as they are.
        var locked: [TransactionID] = []
        /// The deliveries that were expected, and up to when it was known what was delivered.
        let expected: [ExpectedDelivery]
        let told: Date
    }

    /// Sweeps all apps, once no other run sweeps any more. Otherwise the pages of a run that looked before the last
    /// receipts were recorded would be stored over those of a run that looked after it.
    func sweep() async throws(LedgerError) -> Swept {
        guard !context.isDryRun, try await takeTurn() else { return try await sweepNow() }
        let swept: Swept
        do {
            swept = try await sweepNow()
        } catch {
            // If the connection was lost, so is the lock.
            try? await session.unlock(.sweep)
            throw error
        }
        try await session.unlock(.sweep)
        return swept
    }

    /// Waits as long as the other run does something, but not for one whose program hangs, nor for another login's
    /// session.
    ///
    /// - Returns: whether the lock is ours.
    private func takeTurn() async throws(LedgerError) -> Bool {
        var isWaiting = false
        while try await !session.tryLock(.sweep) {
            if !isWaiting { context.log(.info, Self.waits) }
            isWaiting = true
            let isIdle = try await session.isHeldIdly(.sweep, for: context.settings.patience)
            // A task that is cancelled does not sleep.
            guard !isIdle, !context.stop.isRequested, (try? await Task.sleep(for: .milliseconds(200))) != nil else {
                let holders = try await session.holders(of: .sweep)
                context.log(.warning, Self.waitsNoMore + holders.heldBy)
                return false
            }
        }
        return true
    }

    private static let waits = "another run judges its cases; waiting for it"
    private static let waitsNoMore =
        "cases are judged beside another run, and what that stores may be older; the next run mends it"

    private func sweepNow() async throws(LedgerError) -> Swept {
        let apps = context.settings.apps.map(\.app)
        try await session.noteConnections()
        let deliveries = try await session.expectedDeliveries(of: apps)
        try await releasePurged(of: apps)
        try await session.coverEntitled(runID: context.runID, now: context.now)
        try await session.keepOwedOnce(runID: context.runID, now: context.now)
        let told = try await toldUpTo()
        var swept = Swept(expected: deliveries, told: told)
        let locked = try await keepCases { isBeside, keep async throws(LedgerError) in
            try await session.forEachPageOfFacts(
                of: apps, expecting: deliveries, toldUpTo: told, now: context.now, isKeptAside: !isBeside
            ) { page async throws(LedgerError) in
                swept.cases += page.count
                try await keep(page)
            }
        }
        let left = try await storeAgain(locked)
        try await session.withdrawCases(expecting: deliveries, runID: context.runID, now: context.now)
        try await session.tellCases(runID: context.runID)
        checkpoint(.casesClosed)
        try await RedeliveryOrders(context: context, session: session).order()
        swept.locked = left.map(\.key.id)
        return swept
    }

    /// What a setting excluded that was mended since, where no receipt can be verified again for it any more.
    private func releasePurged(of apps: [App]) async throws(LedgerError) {
        let released = try await session.releasePurged(apps, runID: context.runID, at: context.now)
        guard released > 0 else { return }
        context.log(
            .info, "purchases are owed that earlier settings excluded, as told before their receipts were purged",
            fields: ["purchases": String(released)])
    }

    /// Up to when it is known what was delivered: now, or, if sources tell of it, when they were last pulled to their
    /// end.
    private func toldUpTo() async throws(LedgerError) -> Date {
        let sources = context.settings.sources.filter(\.kind.tellsOfDeliveries).map(\.name)
        guard !sources.isEmpty else { return context.now }
        return min(context.now, try await session.toldUpTo(sources) ?? .distantPast)
    }

    /// Judges and stores what the body hands over, page by page. If there is a connection for that, it does so while
    /// the body reads the facts of the next page.
    ///
    /// - Parameter body: is told whether pages are stored beside it.
    /// - Returns: the cases whose transaction another session has locked.
    private func keepCases(
        _ body: (
            _ isBeside: Bool, _ keep: ([CaseFacts]) async throws(LedgerError) -> Void
        ) async throws(LedgerError) -> Void
    ) async throws(LedgerError) -> [AssessedCase] {
        var locked: [AssessedCase] = []
        guard let beside, await beside.isOpen else {
            var given = GivenOrders()
            try await body(false) { page async throws(LedgerError) in
                locked += try await session.store(given.assess(page), of: context)
            }
            return locked
        }
        let keeper = CaseKeeper(context: context, beside: beside)
        var underWay: Task<Result<[AssessedCase], LedgerError>, Never>?
        do {
            try await body(true) { page async throws(LedgerError) in
                if let before = underWay { locked += try await before.value.get() }
                underWay = Task { await keeper.keep(page) }
            }
        } catch {
            // Nothing of this sweep may be written any more when it is done again.
            _ = await underWay?.value
            throw error
        }
        if let last = underWay { locked += try await last.value.get() }
        return locked
    }

    /// A claim takes milliseconds: what is locked for longer is left to the next night.
    private func storeAgain(_ cases: [AssessedCase]) async throws(LedgerError) -> [AssessedCase] {
        var backoff = DatabaseBackoff(within: min(2, context.settings.patience), pause: 0.1...0.1)
        var left = cases
        while !left.isEmpty, await backoff.mayTryAgain() { left = try await session.store(left, of: context) }
        return left
    }
}
