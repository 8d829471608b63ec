import Foundation
import Job
import Ledger
import Reconciliation

/// The workers of a run, each with a connection of its own, until no due receipt is left that this run may take.
struct WorkerPool {
    let night: Night
    let ledger: LedgerSettings

    private var context: RunContext { night.context }

    /// Seconds for which a run that shares the inbox looks again for what nobody has taken.
    private static let courtesy = 5.0

    /// Runs the workers over the buckets, and once more over what was left, for as long as that brings anything: a
    /// run that was killed meanwhile leaves its buckets free.
    func work(
        _ session: LedgerSession, on receipts: [DueReceipts], due: () async throws -> [DueReceipts]
    ) async throws {
        var remaining = receipts
        var losses = 0
        var backoff = DatabaseBackoff(within: min(Self.courtesy, context.settings.patience), pause: 0.2...0.2)
        while !night.isEnding {
            // Also where nothing is due any more: then another run has done what a pass before left out.
            night.offer(remaining)
            guard !remaining.isEmpty else { return }
            let before = night.receipts.left
            if context.isDryRun {
                // The batch's receipts stay due, so there is only one pass.
                var recorded = 0
                return try await Worker(night: night, session: session).work(recorded: &recorded)
            }
            let wasLost = try await pass(workers: workers(for: remaining))
            if night.receipts.left < before {
                losses = 0
            } else if wasLost, losses < mostReconnects {
                // Nobody else took what a worker had in hand when it lost its session.
                losses += 1
            } else {
                // Runs that share the inbox get in each other's way for a moment: what one leaves, another may have
                // left.
                guard context.settings.workers == .shared, await backoff.mayTryAgain() else { return }
            }
            remaining = try await due()
        }
    }

    /// How many connections these receipts are worth: a session that records its first batch has to make its plans, which
    /// takes PostgreSQL longer than a few hundred receipts do.
    private func workers(for receipts: [DueReceipts]) -> Int {
        max(1, min(context.settings.connections, receipts.count, receipts.total / (2 * BatchSize.first)))
    }

    /// Makes a pass over the buckets. Gives whether a worker lost its session on the way.
    private func pass(workers: Int) async throws -> Bool {
        let ends = try await withThrowingTaskGroup(of: WorkerEnd.self) { group in
            for _ in 0..<workers {
                group.addTask { try await workResiliently() }
            }
            return try await group.reduce(into: [WorkerEnd]()) { $0.append($1) }
        }
        let refusals = ends.compactMap { if case .refused(let why) = $0 { why } else { nil } }
        // One worker that got a session does the work of all.
        if let refusal = refusals.first, refusals.count == ends.count { throw refusal }
        return ends.contains { if case .done(wasLost: true) = $0 { true } else { false } }
    }

    /// How a worker's pass over the buckets ended.
    private enum WorkerEnd {
        /// No bucket was left; whether it lost its session on the way.
        case done(wasLost: Bool)
        /// It got no session.
        case refused(LedgerError)
    }

    /// Works on after the database came back from a restart: what was not committed is still due.
    private func workResiliently() async throws -> WorkerEnd {
        let session: LedgerSession
        do {
            session = try await connect()
        } catch {
            guard case .connectionLost = error else { throw error }
            return .refused(error)
        }
        defer { session.close() }
        var losses = 0
        var wasLost = false
        while true {
            var recorded = 0
            do {
                try await retryingConflicts(for: context.settings.conflictPatience) { () async throws(LedgerError) in
                    try await session.findAgain(context.runID)
                }
                try await Worker(night: night, session: session).work(recorded: &recorded)
                return .done(wasLost: wasLost)
            } catch {
                guard case .connectionLost(let why) = error else { throw error }
                wasLost = true
                losses = recorded > 0 ? 1 : losses + 1
                guard losses <= mostReconnects else { throw LedgerError.connectionLost(why) }
                context.log(.lostDatabase(why, runID: context.runID))
                try await session.reconnect(within: context.settings.patience)
            }
        }
    }

    /// A session to work with, even if the database goes away just then: the night is under way.
    private func connect() async throws(LedgerError) -> LedgerSession {
        var backoff = DatabaseBackoff(within: context.settings.patience, pause: 1...1)
        while true {
            do {
                return try await LedgerSession.connect(ledger)
            } catch {
                guard case .connectionLost = error, await backoff.mayTryAgain() else { throw error }
            }
        }
    }
}
