import Foundation
import Ledger
import Reconciliation

/// The workers of a run, each with a connection of its own, until no due receipt is left that this run may take.
struct WorkerPool {
    let night: Night
    let ledger: LedgerSettings

    /// Seconds for which a run that shares the inbox looks again for what nobody has taken.
    private static let courtesy = 5.0

    /// Runs the workers over the buckets, and once more over what was left, for as long as that brings anything: a
    /// run that was killed meanwhile leaves its buckets free. `due` says how many receipts are due in each bucket.
    func work(
        _ session: LedgerSession, buckets: [Int: Int], due: () async throws -> [Int: Int]
    ) async throws {
        var remaining = buckets
        var backoff = DatabaseBackoff(within: min(Self.courtesy, night.settings.patience), pause: 0.2...0.2)
        while !remaining.isEmpty, !night.isEnding {
            let before = night.receipts.left
            night.offer(remaining)
            if night.isDryRun {
                // Its receipts stay due: one pass is all there is.
                var recorded = 0
                return try await Worker(night: night, session: session).work(recorded: &recorded)
            }
            try await pass(workers: min(night.settings.connections, remaining.count))
            if night.receipts.left >= before {
                // Runs that share the inbox get in each other's way for a moment: what one leaves, another may have left.
                guard night.settings.workers == .shared, await backoff.mayTryAgain() else { return }
            }
            remaining = try await due()
        }
    }

    private func pass(workers: Int) async throws {
        let refusals = try await withThrowingTaskGroup(of: LedgerError?.self) { group in
            for _ in 0..<max(1, workers) {
                group.addTask { try await workResiliently() }
            }
            var refusals: [LedgerError] = []
            for try await refusal in group { refusals += [refusal].compactMap(\.self) }
            return refusals
        }
        // One that got in does the work of all.
        if let refusal = refusals.first, refusals.count == max(1, workers) { throw refusal }
    }

    /// Works on after the database came back from a restart: what was not committed is still due. Gives why there was
    /// no connection to work with, if there was none.
    private func workResiliently() async throws -> LedgerError? {
        let session: LedgerSession
        do {
            session = try await connect()
        } catch {
            guard case .connectionLost = error else { throw error }
            return error
        }
        defer { session.close() }
        var losses = 0
        while true {
            var recorded = 0
            do {
                try await Worker(night: night, session: session).work(recorded: &recorded)
                return nil
            } catch {
                guard case .connectionLost(let why) = error else { throw error }
                losses = recorded > 0 ? 1 : losses + 1
                guard losses <= mostReconnects else { throw LedgerError.connectionLost(why) }
                night.log(LogEntry(.warning, "lost the database, waiting for it", fields: ["error": why]))
                try await session.reconnect(within: night.settings.patience)
            }
        }
    }

    /// A session to work with, also where the database goes away just then: the night is under way.
    private func connect() async throws(LedgerError) -> LedgerSession {
        var backoff = DatabaseBackoff(within: night.settings.patience, pause: 1...1)
        while true {
            do {
                return try await LedgerSession.connect(ledger, waiting: night.settings.patience)
            } catch {
                guard case .connectionLost = error, await backoff.mayTryAgain() else { throw error }
            }
        }
    }
}
