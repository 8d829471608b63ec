import Job
import Foundation
import Ledger
import Reconciliation

/// Gives one worker its batches: takes some buckets that fill a batch, or one that fills several, owns them, reads them
/// to their end, takes the next.
struct BatchSource {
    /// What a batch's payloads may have together. What is asked of the database for each batch costs as much as some
    /// hundred small receipts; large ones are held in memory, several batches at a time.
    private static let wantedBytes = 1_500_000
    /// Receipts of the first batch, when nothing is known of their size.
    private static let firstLimit = 128

    let night: Night
    /// How many receipts the next batch may hold, by the size of those before.
    private var limit: Int
    /// Those in hand.
    private var buckets: [Int] = []
    private var end = Data()

    init(night: Night) {
        self.night = night
        limit = min(Self.firstLimit, night.settings.batchSize)
    }

    /// The next batch; `nil` when no bucket is left or the night is ending. Buckets are freed by whoever records
    /// their last batch.
    mutating func next(_ session: LedgerSession) async throws(LedgerError) -> InboxBatch? {
        guard !night.isEnding else { return nil }
        let buckets = try await current(session)
        guard !buckets.isEmpty else { return nil }
        checkpoint(.bucketOwned)
        let limit = night.reserve(limit)
        guard limit > 0 else { return nil }
        let batch = try await night.stopwatch.time(.fetch, items: \.receiptCount) {
            [end, night] () async throws(LedgerError) in
            try await retryingConflicts(for: night.settings.patience) { () async throws(LedgerError) in
                try await session.nextBatch(buckets: buckets, after: end, limit: limit, now: night.now)
            }
        }
        night.giveBack(limit - min(limit, batch.receiptCount))
        checkpoint(.batchFetched)
        end = batch.end
        if batch.receiptCount > 0 {
            let fitting = Self.wantedBytes / max(1, batch.payloadBytes / batch.receiptCount)
            self.limit = min(max(fitting, 1), night.settings.batchSize)
        }
        // An empty one is the last, too, and handed on as the others are: what was fetched before it is not recorded yet.
        if batch.isLast { self.buckets = [] }
        return batch
    }

    /// The buckets in hand, otherwise the next that this worker comes to own. A dry run writes nothing and owns none.
    private mutating func current(_ session: LedgerSession) async throws(LedgerError) -> [Int] {
        while buckets.isEmpty {
            let candidates = night.takeBuckets(filling: limit)
            guard !candidates.isEmpty else { break }
            for candidate in candidates {
                if night.isDryRun {
                    buckets.append(candidate)
                } else if try await session.tryLock(.bucket(candidate)) {
                    buckets.append(candidate)
                } else {
                    night.leave(bucket: candidate)
                }
            }
            end = Data()
        }
        return buckets
    }
}
