import Foundation
import Job
import Ledger
import Reconciliation

/// The source of one worker's batches: it owns some buckets that fill a batch, or one that fills several, reads them to
/// their end, and takes the next.
struct BatchSource {
    let night: Night
    private var size: BatchSize
    /// The buckets in hand, and whether it is the turn of what met a trouble in them.
    private var buckets: [Int] = []
    private var isTroubled = false
    private var end = Data()

    init(night: Night) {
        self.night = night
        size = BatchSize(ceiling: night.context.settings.batchSize)
    }

    /// Looks at how much was in the receipts of a batch, for the size of those to come.
    mutating func learn(from groups: [VerifiedGroup]) {
        let receipts = groups.reduce(0) { $0 + $1.group.receipts.count }
        let transactions = groups.reduce(0) { count, item in
            guard case .verified(let receipt) = item.verdict else { return count }
            return count + receipt.transactions.count * item.group.receipts.count
        }
        size.learn(transactions: transactions, of: receipts)
    }

    /// The next batch; `nil` when no bucket is left or the night is ending. Buckets are freed by whoever records
    /// their last batch.
    mutating func next(_ session: LedgerSession) async throws(LedgerError) -> InboxBatch? {
        guard !night.isEnding else { return nil }
        let buckets = try await current(session)
        guard !buckets.isEmpty else { return nil }
        checkpoint(.bucketOwned)
        let limit = night.reserve(size.receipts)
        guard limit > 0 else { return nil }
        // If the connection is lost, another worker takes what this one would have taken.
        var taken = 0
        defer { night.giveBack(limit - min(limit, taken)) }
        let batch = try await night.context.stopwatch.time(.fetch, items: \.receiptCount) {
            [end, night, isTroubled] () async throws(LedgerError) in
            try await retryingConflicts(for: night.context.settings.patience) { () async throws(LedgerError) in
                try await session.nextBatch(
                    buckets: buckets, isTroubled: isTroubled, after: end, limit: limit, now: night.context.now)
            }
        }
        taken = batch.receiptCount
        checkpoint(.batchFetched)
        end = batch.end
        size.learn(payloadBytes: batch.payloadBytes, of: batch.receiptCount)
        // An empty batch is the last, too, and is handed on like the others: what was fetched before it is not recorded
        // yet.
        if batch.isLast { self.buckets = [] }
        return batch
    }

    /// The buckets in hand, otherwise the next that this worker comes to own. A dry run writes nothing and owns none.
    private mutating func current(_ session: LedgerSession) async throws(LedgerError) -> [Int] {
        while buckets.isEmpty {
            let due = night.takeBuckets(filling: size.receipts)
            guard let first = due.first else { break }
            isTroubled = first.isTroubled
            let candidates = due.map(\.bucket)
            let owned = night.context.isDryRun ? Set(candidates) : try await session.tryLock(buckets: candidates)
            night.own(owned)
            for candidate in candidates where !owned.contains(candidate) { night.leave(bucket: candidate) }
            buckets = candidates.filter(owned.contains)
            end = Data()
        }
        return buckets
    }
}
