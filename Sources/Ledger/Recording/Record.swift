import Foundation
import PostgreSQL
import Reconciliation

extension LedgerSession {
    /// Records a batch in one database transaction: staging, the ledger, the receipts' new states, the control totals.
    /// A crash before the commit leaves the receipts as they were; recording the same batch again gives the same
    /// tables. What another session has locked is left out, and the receipts that hold it stay due.
    ///
    /// - Throws: `LedgerError.conflict` when another session's lock was in the way of all of it and the batch should be
    ///   recorded again; `LedgerError.unbalanced` when the batch's totals don't balance.
    public func record(_ record: BatchRecord) async throws(LedgerError) -> BatchTotals {
        try await translating {
            try await prepare(.batches)
            return try await connection.transaction {
                try await stage(record)
                checkpoint(.transactionsStaged)
                try await pullShadows(for: record)
                let recorded = try await take(record)
                checkpoint(.transactionsMerged)
                var totals = recorded.totals
                (totals.receipts, totals.receiptsHeld) = try await settle(record, recorded)
                checkpoint(.receiptsSettled)
                try await count(totals, runID: record.runID)
                checkpoint(.recordCommitting)
                return totals
            }
        }
    }

    private func take(_ record: BatchRecord) async throws -> Recorded {
        try Recorded(
            try await connection.only(
                """
                SELECT newly_white, already_white, already_black, excluded, watched, held, locked
                FROM iap.record(\(record.runID), \(record.now))
                """),
            staged: record.heard.count)
    }
}

/// What `iap.record` says of a batch.
struct Recorded {
    private(set) var totals = BatchTotals()
    /// The receipts that hold a white transaction: they are asked again each night, so that a refund is noticed.
    let watched: Set<Int64>
    /// The receipts that hold a transaction which another session has locked.
    let held: Set<Int64>

    /// - Throws: `LedgerError.unbalanced` when not all that was staged is somewhere.
    init(_ row: Row, staged: Int) throws {
        watched = Set(try row.decode("watched", as: [Int64].self))
        held = Set(try row.decode("held", as: [Int64].self))
        totals.newlyWhite = try row.tally("newly_white")
        totals.alreadyWhite = try row.tally("already_white")
        totals.alreadyBlack = try row.tally("already_black")
        totals.excluded = try row.tally("excluded")
        totals.verified = totals.newlyWhite + totals.alreadyWhite + totals.alreadyBlack + totals.excluded
        totals.locked = try row.ids("locked")
        let (verified, free) = (totals.verified, staged - totals.locked.count)
        guard verified.transactions == free else {
            let expected = Tally(transactions: free, units: verified.units, hash: verified.hash)
            throw LedgerError.unbalanced([Imbalance(equation: .verified, left: expected, right: verified)])
        }
    }
}
