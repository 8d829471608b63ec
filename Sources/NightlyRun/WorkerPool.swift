import Foundation
import Ledger
import Reconciliation

/// The workers of a run, each with a connection of its own, until no due receipt is left that this run may take.
struct WorkerPool {
    let night: Night
    let ledger: LedgerSettings

    /// Seconds for which a lost database is waited for: a restart takes less.
    private static let patience: TimeInterval = 60

    /// Runs the workers over the buckets, and once more over what was left, for as long as that brings anything: a
    /// run that was killed meanwhile leaves its buckets free.
    func work(_ session: LedgerSession, buckets: [Int]) async throws(LedgerError) {
        var remaining = buckets
        while !remaining.isEmpty, !night.isEnding {
            let before = night.receipts.left
            night.offer(remaining)
            if night.isDryRun {
                // Its receipts stay due: one pass is all there is.
                return try await Worker(night: night, session: session).work()
            }
            try await pass(workers: min(night.settings.connections, remaining.count))
            guard night.receipts.left < before else { return }
            remaining = try await session.dueReceipts(at: night.now).keys.sorted()
        }
    }

    private func pass(workers: Int) async throws(LedgerError) {
        do {
            try await withThrowingTaskGroup(of: Void.self) { group in
                for _ in 0..<max(1, workers) {
                    group.addTask { try await workResiliently() }
                }
                try await group.waitForAll()
            }
        } catch let error as LedgerError {
            throw error
        } catch {
            throw .failed(String(describing: error))
        }
    }

    /// Works on after the database came back from a restart: what was not committed is still due.
    private func workResiliently() async throws(LedgerError) {
        let session = try await LedgerSession.connect(ledger)
        defer { session.close() }
        while true {
            do {
                return try await Worker(night: night, session: session).work()
            } catch .connectionLost(let why) {
                night.log(LogEntry(.warning, "lost the database, waiting for it", fields: ["error": why]))
                try await session.comeBack(within: Self.patience)
            }
        }
    }
}

extension LedgerSession {
    /// Connects again, trying for that many seconds.
    func comeBack(within seconds: TimeInterval) async throws(LedgerError) {
        let deadline = ContinuousClock.now + .seconds(seconds)
        while true {
            do {
                return try await reconnect()
            } catch .connectionLost(let why) {
                guard ContinuousClock.now < deadline, !Task.isCancelled else { throw .connectionLost(why) }
                try? await Task.sleep(for: .seconds(1))
            }
        }
    }
}
