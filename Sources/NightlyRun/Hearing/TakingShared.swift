import Job
import Ledger
import Reconciliation

/// What taking Apple's words came to, without what other sessions had locked.
protocol WordsTaken {
    var locked: [TransactionID] { get }
    /// Adds what was taken a second time, because it had been locked.
    mutating func add(takenAgain again: Self)
}

extension NoticeTotals: WordsTaken {}
extension AskingTotals: WordsTaken {}

extension JobSettings {
    /// Takes what Apple told. If runs share the inbox, another run hears and asks the same at the same time: what it
    /// has in hand is free in a moment, and is taken again.
    ///
    /// - Parameters:
    ///   - take: takes all of it.
    ///   - takeAgain: takes what was locked.
    func takeShared<Taken: WordsTaken>(
        _ take: () async throws(LedgerError) -> Taken,
        again takeAgain: ([TransactionID]) async throws(LedgerError) -> Taken
    ) async throws(LedgerError) -> Taken {
        var taken = try await retryingConflicts(for: conflictPatience, take)
        guard workers == .shared else { return taken }
        var backoff = DatabaseBackoff(within: min(Self.courtesy, patience), pause: 0.05...0.2)
        while !taken.locked.isEmpty, await backoff.mayTryAgain() {
            let locked = taken.locked
            taken.add(
                takenAgain: try await retryingConflicts(for: conflictPatience) { () async throws(LedgerError) in
                    try await takeAgain(locked)
                })
        }
        return taken
    }

    /// Seconds for which another run is waited for.
    private static let courtesy = 2.0
}
