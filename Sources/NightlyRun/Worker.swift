import Foundation
import Job
import Ledger
import Reconciliation

/// Works through buckets of the inbox over one connection of its own. Apple is asked about several batches at the same
/// time, and meanwhile the oldest of them is recorded and the next one is fetched: so neither Apple nor PostgreSQL
/// waits for the other, and a receipt whose answer takes long holds up nobody.
struct Worker {
    /// How many batches Apple is asked about at the same time.
    private static let batchesAhead = 3

    let night: Night
    let session: LedgerSession

    private var context: RunContext { night.context }

    /// A batch about which Apple is asked.
    private struct Verification {
        let batch: InboxBatch
        let task: Task<[VerifiedGroup], Never>
    }

    /// Works until no bucket is left, or the night ends early. Batches are recorded in the order in which they were
    /// fetched, each whole or not at all, or payload by payload if PostgreSQL refuses what one says. `recorded` counts
    /// them.
    func work(recorded: inout Int) async throws(LedgerError) {
        var source = BatchSource(night: night)
        var ahead: [Verification] = []
        defer { for verification in ahead { giveUp(verification) } }
        while true {
            while ahead.count < Self.batchesAhead, let batch = try await source.next(session) {
                ahead.append(verifying(batch))
            }
            guard let oldest = ahead.first else { return }
            try await session.prepareToRecord()
            let verified = await oldest.task.value
            ahead.removeFirst()
            source.learn(from: verified)
            checkpoint(.batchVerified)
            do {
                try await record(oldest.batch, verified)
            } catch {
                night.giveBack(oldest.batch.receiptCount)
                throw error
            }
            recorded += 1
        }
    }

    private func verifying(_ batch: InboxBatch) -> Verification {
        let task = Task { [night] in
            await night.context.stopwatch.time(.verify, items: { _ in batch.receiptCount }) {
                await night.verifier.verify(batch)
            }
        }
        return Verification(batch: batch, task: task)
    }

    /// Gives up a batch: its receipts stay due, and count no more towards the run's limit.
    private func giveUp(_ verification: Verification) {
        verification.task.cancel()
        night.giveBack(verification.batch.receiptCount)
    }

    private func record(_ batch: InboxBatch, _ groups: [VerifiedGroup]) async throws(LedgerError) {
        do {
            try await record(groups, of: batch)
        } catch {
            guard case .unfit = error else { throw error }
            // What one payload says must keep no other from being recorded, tonight and every night after.
            for group in groups { try await recordAlone(group, of: batch) }
        }
        try await night.free(batch, session)
    }

    /// Records what one payload says. If PostgreSQL refuses that, its receipts are to be tried again, with PostgreSQL's
    /// words.
    private func recordAlone(_ group: VerifiedGroup, of batch: InboxBatch) async throws(LedgerError) {
        do {
            try await record([group], of: batch)
        } catch {
            guard case .unfit(let why) = error else { throw error }
            context.log(
                .warning, "what a receipt says can't be recorded, and it is tried again another night",
                fields: [
                    "bundle_id": group.group.bundleID, "error": why,
                    "receipts": group.group.receipts.map { String($0.id) }.joined(separator: " "),
                ])
            try await record([group.unrecorded(why)], of: batch)
        }
    }

    /// Records these payloads of a batch, or leaves them if another session's lock stays in the way.
    private func record(_ groups: [VerifiedGroup], of batch: InboxBatch) async throws(LedgerError) {
        let receipts = tried(groups)
        do {
            if !receipts.isEmpty { try await record(receipts, of: batch, groups) }
        } catch {
            guard case .conflict(let why) = error else { throw error }
            // Somebody holds on to a transaction of this batch: the others need not wait for that.
            night.leave(receipts: receipts.map(\.id))
            context.log(
                .warning, "another session's lock stays in the way of a batch, which stays in the inbox",
                fields: ["buckets": batch.bucketNames, "error": why])
        }
    }

    private func record(
        _ receipts: [TriedReceipt], of batch: InboxBatch, _ groups: [VerifiedGroup]
    ) async throws(LedgerError) {
        let totals = try await context.stopwatch.time(.record, items: { _ in receipts.count }) {
            () async throws(LedgerError) -> BatchTotals in
            let sightings = try await screen(groups)
            let record = BatchRecord(
                runID: context.runID, now: context.now, sightings: sightings, receipts: receipts)
            return try await retryingConflicts(for: context.settings.conflictPatience) { () async throws(LedgerError) in
                try await session.record(record)
            }
        }
        checkpoint(.recordCommitted)
        night.note(groups)
        night.count(totals)
        if !totals.receiptsHeld.isEmpty || !totals.locked.isEmpty {
            night.leave(receipts: totals.receiptsHeld, transactions: totals.locked)
            // The lock may be another worker's, which has long finished when they are tried again. What is left out to
            // the end is said there.
            context.log(
                .debug, "another session holds receipts or transactions, which are tried again",
                fields: [
                    "buckets": batch.bucketNames,
                    "receipts": totals.receiptsHeld.map(String.init).joined(separator: " "),
                    "transactions": totals.locked.map(\.text).joined(separator: " "),
                ])
        }
    }

    private func screen(_ groups: [VerifiedGroup]) async throws(LedgerError) -> [SightedTransaction] {
        let presented = context.screener.originals(in: groups)
        let known = try await retryingConflicts(for: context.settings.conflictPatience) {
            () async throws(LedgerError) in
            try await session.known(Set(presented.keys))
        }
        return context.screener.sightings(in: groups, known: known, presented: presented)
    }

    private func tried(_ groups: [VerifiedGroup]) -> [TriedReceipt] {
        groups.flatMap { item in
            let madeAt = context.screener.madeAt(item)
            return item.group.receipts.compactMap { receipt in
                Patience.outcome(of: item.verdict, after: receipt.trouble)
                    .map {
                        TriedReceipt(
                            id: receipt.id, outcome: $0, signature: item.signature, madeAt: madeAt,
                            missing: item.verdict.missing(of: receipt), uploadedAgainAt: receipt.uploadedAgainAt)
                    }
            }
        }
    }
}

extension InboxBatch {
    fileprivate var bucketNames: String { buckets.map(String.init).joined(separator: " ") }
}
