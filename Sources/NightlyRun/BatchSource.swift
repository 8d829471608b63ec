import Foundation
import Ledger
import Reconciliation

/// Gives one worker its batches: takes a bucket, owns it, reads it to its end, takes the next.
struct BatchSource {
    let night: Night
    private var bucket: Int?
    private var end = Data()

    init(night: Night) {
        self.night = night
    }

    /// The next batch; nothing when no bucket is left or the night is ending. A bucket is freed by whoever records
    /// its last batch.
    mutating func next(_ session: LedgerSession) async throws(LedgerError) -> InboxBatch? {
        while !night.isEnding {
            guard let bucket = try await current(session) else { return nil }
            checkpoint(.bucketOwned)
            let limit = night.reserve(night.settings.batchSize)
            guard limit > 0 else { return nil }
            let batch = try await night.stopwatch.time(.fetch, items: \.receiptCount) {
                [end, night] () async throws(LedgerError) in
                try await patiently(for: night.settings.patience) { () async throws(LedgerError) in
                    try await session.nextBatch(bucket: bucket, after: end, limit: limit, now: night.now)
                }
            }
            night.giveBack(limit - min(limit, batch.receiptCount))
            checkpoint(.batchFetched)
            end = batch.end
            if batch.isLast { self.bucket = nil }
            if batch.receiptCount > 0 { return batch }
            // Empty, and so its last: there is nothing to record that would free it.
            if !night.isDryRun { try await session.unlock(.bucket(bucket)) }
            self.bucket = nil
        }
        return nil
    }

    /// The bucket in hand, else the next one that this worker comes to own. A dry run writes nothing and owns none.
    private mutating func current(_ session: LedgerSession) async throws(LedgerError) -> Int? {
        if let bucket { return bucket }
        while let candidate = night.takeBucket() {
            if night.isDryRun {
                bucket = candidate
            } else if try await session.tryLock(.bucket(candidate)) {
                bucket = candidate
            } else {
                night.leave(bucket: candidate)
                continue
            }
            end = Data()
            return candidate
        }
        return nil
    }
}
