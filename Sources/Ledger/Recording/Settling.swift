import Foundation
import PostgreSQL
import Reconciliation

extension LedgerSession {
    /// Writes what becomes of the batch's receipts, and counts them. `watched` are those that hold a white
    /// transaction: they are asked again each night, so that a refund is noticed.
    func settle(_ record: BatchRecord, watched: Set<Int64>) async throws -> ReceiptCounts {
        var counts = ReceiptCounts()
        var states: [String] = []
        var codes: [String?] = []
        var texts: [String?] = []
        for receipt in record.receipts {
            switch receipt.outcome {
            case .verified:
                counts.verified += 1
                states.append(watched.contains(receipt.id) ? "watched" : "settled")
                codes.append(nil)
                texts.append(nil)
            case .tryAgain(let problem, let detail):
                counts.tryAgain += 1
                states.append("waiting")
                codes.append(problem.rawValue)
                texts.append(detail)
            case .unusable(let problem, let detail):
                counts.unusable += 1
                states.append("unusable")
                codes.append(problem.rawValue)
                texts.append(detail)
            }
        }
        try await connection.execute(
            """
            UPDATE receipts
            SET state = tried.state,
                attempts = CASE WHEN tried.error_code IS NULL THEN 0 ELSE receipts.attempts + 1 END,
                next_attempt_at =
                    CASE WHEN tried.state IN ('waiting', 'watched') THEN \(record.nextNight) END,
                last_attempt_at = \(record.now),
                verified_at = CASE WHEN tried.error_code IS NULL THEN \(record.now) ELSE receipts.verified_at END,
                error_code = tried.error_code,
                error_text = tried.error_text,
                signature = coalesce(tried.signature, receipts.signature),
                made_at = coalesce(tried.made_at, receipts.made_at)
            FROM unnest(
                \(record.receipts.map(\.id)), \(states), \(codes), \(texts),
                \(record.receipts.map { $0.signature?.rawValue }), \(record.receipts.map(\.madeAt))
            ) AS tried (receipt_id, state, error_code, error_text, signature, made_at)
            WHERE receipts.bucket = \(Int16(record.bucket)) AND receipts.receipt_id = tried.receipt_id
            """)
        return counts
    }

    /// Journals what entered and left the white table, for the books.
    func move(_ movements: [Movement: Tally], runID: Int64, at now: Date) async throws {
        for (kind, tally) in movements where tally.transactions > 0 {
            try await connection.execute(
                """
                INSERT INTO movements (kind, transactions, units, hash, moved_at, run_id)
                VALUES (
                    \(kind.rawValue), \(Int64(tally.transactions)), \(Int64(tally.units)), \(tally.hash),
                    \(now), \(runID))
                """)
        }
    }

    /// Adds a batch to the run's figures, in the batch's own transaction.
    func count(_ totals: BatchTotals, runID: Int64) async throws {
        try await connection.execute(
            """
            UPDATE runs
            SET receipts_verified = receipts_verified + \(Int64(totals.receipts.verified)),
                receipts_try_again = receipts_try_again + \(Int64(totals.receipts.tryAgain)),
                receipts_unusable = receipts_unusable + \(Int64(totals.receipts.unusable)),
                verified = \(sum("verified", totals.verified)),
                newly_white = \(sum("newly_white", totals.newlyWhite)),
                already_white = \(sum("already_white", totals.alreadyWhite)),
                already_black = \(sum("already_black", totals.alreadyBlack)),
                excluded = \(sum("excluded", totals.excluded))
            WHERE run_id = \(runID)
            """)
    }

    /// The array of a tally's column with another tally added; the hash is added by exclusive or.
    private func sum(_ column: String, _ tally: Tally) -> SQL {
        """
        ARRAY[
            \(identifier: column)[1] + \(Int64(tally.transactions)),
            \(identifier: column)[2] + \(Int64(tally.units)),
            \(identifier: column)[3] # \(tally.hash)
        ]
        """
    }
}

/// How a transaction enters or leaves the white table.
enum Movement: String {
    case new, claimed, resolved, refunded
}
