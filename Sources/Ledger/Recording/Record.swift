import Foundation
import PostgreSQL
import Reconciliation

extension LedgerSession {
    /// Records a batch in one database transaction: staging, merge, the receipts' new states, the control totals.
    /// A crash before the commit leaves the receipts as they were; recording the same batch again gives the same
    /// tables.
    ///
    /// - Throws: `LedgerError.conflict` when another session's lock was in the way and the batch should be recorded
    ///   again; `LedgerError.unbalanced` when the batch's totals don't balance.
    public func record(_ record: BatchRecord) async throws(LedgerError) -> BatchTotals {
        try await translating {
            try await connection.transaction {
                try await stage(record)
                checkpoint(.transactionsStaged)
                try await pullShadows(for: record)
                let totals = try await merge(record)
                checkpoint(.recordCommitting)
                return totals
            }
        }
    }

    /// A statement that would find nothing in the batch is left out: to plan it takes as long as to merge many rows.
    private func merge(_ record: BatchRecord) async throws -> BatchTotals {
        let merge = Merge(connection: connection, record: record)
        if record.holdsRefunds { try await merge.refundDelivered() }
        let withdrawn = record.holdsExcluded ? try await merge.withdraw() : (refunded: Tally(), resolved: Tally())
        if record.isReleasing { try await merge.release() }
        if record.holdsExcluded { try await merge.exclude() }
        let admitted = try await merge.admit()
        if admitted.transactions < record.owed { try await merge.confirm() }
        let delivered = try await merge.withdrawDelivered()
        try await merge.sight()

        checkpoint(.transactionsMerged)

        let new = admitted - delivered.new
        let places = try await merge.places()
        let totals = try BatchTotals(places: places.tallies, new: new, staged: record.best.count)
        try await move(
            [
                .new: new, .claimed: delivered.old, .refunded: withdrawn.refunded, .resolved: withdrawn.resolved,
            ], runID: record.runID, at: record.now)
        let counts = try await settle(record, watched: places.watched)
        checkpoint(.receiptsSettled)
        try await merge.clear()
        return try await add(totals, counts, to: record.runID)
    }

    private func add(_ totals: BatchTotals, _ counts: ReceiptCounts, to runID: Int64) async throws -> BatchTotals {
        var totals = totals
        totals.receipts = counts
        try await count(totals, runID: runID)
        return totals
    }
}

extension BatchTotals {
    /// The totals of a batch from where its transactions are.
    ///
    /// - Throws: `LedgerError.unbalanced` when a transaction is nowhere, or not all that was staged is there.
    fileprivate init(places: [Merge.Place: Tally], new: Tally, staged: Int) throws {
        self.init()
        verified = places.values.reduce(Tally(), +)
        newlyWhite = new
        alreadyWhite = (places[.white] ?? Tally()) - new
        alreadyBlack = places[.black] ?? Tally()
        excluded = places[.excluded] ?? Tally()
        let outcomes = newlyWhite + alreadyWhite + alreadyBlack + excluded
        guard outcomes == verified, verified.transactions == staged, alreadyWhite.transactions >= 0 else {
            let expected = Tally(transactions: staged, units: verified.units, hash: verified.hash)
            throw LedgerError.unbalanced([Imbalance(equation: .verified, left: expected, right: outcomes)])
        }
    }
}
