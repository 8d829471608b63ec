import Foundation
import PostgreSQL
import Reconciliation

extension LedgerSession {
    /// Writes what becomes of the batch's receipts, and counts them. One that another session has locked, or that holds
    /// what is locked, stays as it is, and due: these are named.
    func settle(
        _ record: BatchRecord, _ recorded: Recorded
    ) async throws -> (counts: ReceiptCounts, locked: [Int64]) {
        try await commitInTwoPhases()
        let held = try await hold(record)
        let lacking = try await lacking(record, held)
        let watched = recorded.watched.union(try await watchedOfUnusable(record))
        var counts = ReceiptCounts()
        var tried: [SettledReceipt] = []
        var locked: [Int64] = []
        for receipt in record.receipts {
            guard !recorded.held.contains(receipt.id), let known = held[receipt.id] else {
                locked.append(receipt.id)
                continue
            }
            let isWatched = watched.contains(receipt.id) || known.uploadedAgainAt != receipt.uploadedAgainAt
            let settled = SettledReceipt(
                receipt, after: known.trouble, isWatched: isWatched, lacks: lacking[receipt.id])
            switch settled.state {
            case .watched, .settled: counts.verified += 1
            case .waiting: counts.tryAgain += 1
            case .unusable: counts.unusable += 1
            }
            tried.append(settled)
        }
        for part in try await partsOfOneStatement(tried.map(\.id)) {
            let buckets = Set(part)
            try await write(tried.filter { buckets.contains($0.id.bucket) }, in: part, record)
        }
        return (counts, locked)
    }

    /// Writes the rows of what was tried in some buckets.
    private func write(_ tried: [SettledReceipt], in buckets: [Int16], _ record: BatchRecord) async throws {
        try await connection.execute(
            """
            UPDATE receipts
            SET state = settled.state,
                attempts = settled.attempts,
                next_attempt_at = CASE WHEN settled.is_due THEN \(record.nextNight) END,
                last_attempt_at = \(record.now),
                verified_at = CASE WHEN settled.is_verified THEN \(record.now) ELSE receipts.verified_at END,
                error_code = settled.error_code,
                error_text = settled.error_text,
                signature = coalesce(settled.signature, receipts.signature),
                made_at = coalesce(settled.made_at, receipts.made_at),
                seal = \(ReceiptSeal.renewed(of: "receipts", state: "settled.state"))
            FROM unnest(
                \(tried.map(\.id).buckets), \(tried.map(\.id)), \(tried.map(\.state.rawValue)),
                \(tried.map(\.state.isDue)), \(tried.map(\.attempts)), \(tried.map(\.isVerified)),
                \(tried.map(\.problem?.rawValue)), \(tried.map(\.detail)), \(tried.map(\.signature?.rawValue)),
                \(tried.map(\.madeAt))
            ) AS settled (
                bucket, receipt_id, state, is_due, attempts, is_verified, error_code, error_text, signature, made_at)
            WHERE receipts.bucket = settled.bucket AND receipts.receipt_id = settled.receipt_id
                \(andIsInOnly: buckets, of: "receipts")
            """)
    }

    /// The buckets of some receipts, as far as one statement may lock and write them: all, or in a cluster each by
    /// itself, so that it is one server's.
    private func partsOfOneStatement(_ ids: [Int64]) async throws -> [[Int16]] {
        let buckets = ids.distinctBuckets
        return try await isClustered() ? buckets.map { [$0] } : [buckets]
    }

    /// Locks the batch's receipts. What another session has in hand is not among them.
    private func hold(_ record: BatchRecord) async throws -> [Int64: HeldReceipt] {
        let ids = record.receipts.map(\.id)
        var held: [Int64: HeldReceipt] = [:]
        for buckets in try await partsOfOneStatement(ids) {
            let rows = try await connection.query(
                """
                SELECT receipt_id, bundle_id, attempts, error_code, uploaded_again_at
                FROM receipts
                WHERE \(isIn: buckets, of: "receipts") AND receipt_id = ANY (\(ids))
                ORDER BY receipt_id
                FOR UPDATE SKIP LOCKED
                """)
            for row in rows {
                held[try row.decode("receipt_id")] = HeldReceipt(
                    bundleID: try row.decode("bundle_id"), trouble: try row.trouble,
                    uploadedAgainAt: try row.decode("uploaded_again_at", as: Date?.self))
            }
        }
        return held
    }

    /// For each receipt, a transaction that it was uploaded for, that it does not hold, and that nothing else brought.
    private func lacking(_ record: BatchRecord, _ held: [Int64: HeldReceipt]) async throws -> [Int64: String] {
        let missing = record.receipts.flatMap { receipt in
            held[receipt.id].map { held in receipt.missing.map { (receipt.id, held.bundleID, $0) } } ?? []
        }
        guard !missing.isEmpty else { return [:] }
        return try await connection.query(
            """
            SELECT named.receipt_id, min(named.transaction_id) AS transaction_id
            FROM unnest(
                \(missing.map(\.0)), \(missing.map(\.1)), \(missing.map(\.2))
            ) AS named (receipt_id, bundle_id, transaction_id)
            WHERE NOT EXISTS (
                SELECT FROM \(whole(.transactions)) AS held
                WHERE held.transaction_id = named.transaction_id AND held.bundle_id = named.bundle_id)
            GROUP BY named.receipt_id
            """
        ).values(of: "transaction_id", by: "receipt_id")
    }

    /// Those of the receipts that count as unusable now which hold what is still owed, as Apple said before.
    private func watchedOfUnusable(_ record: BatchRecord) async throws -> Set<Int64> {
        let unusable = record.receipts.compactMap { receipt -> Int64? in
            if case .unusable = receipt.outcome { receipt.id } else { nil }
        }
        guard !unusable.isEmpty else { return [] }
        let rows = try await connection.query(
            """
            SELECT DISTINCT seen.receipt_id
            FROM unnest(\(unusable.buckets), \(unusable)) AS asked (bucket, receipt_id)
            JOIN \(whole(.sightings)) AS seen USING (bucket, receipt_id)
            JOIN \(whole(.transactions)) AS held USING (transaction_id, bundle_id, environment)
            WHERE held.place = 'white'
            """)
        return Set(try rows.map { try $0.decode("receipt_id", as: Int64.self) })
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

extension ReceiptState {
    /// Whether the next night tries it again.
    fileprivate var isDue: Bool {
        switch self {
        case .waiting, .watched: true
        case .settled, .unusable: false
        }
    }
}

/// A receipt of the batch, as its row is while the session has it locked.
private struct HeldReceipt {
    let bundleID: String
    let trouble: ReceiptTrouble?
    let uploadedAgainAt: Date?
}

/// What a receipt's row shall say.
private struct SettledReceipt {
    let id: Int64
    let state: ReceiptState
    /// Nights in a row on which it met its problem, this one included.
    let attempts: Int32
    let isVerified: Bool
    let problem: ReceiptProblem?
    let detail: String?
    let signature: OfflineSignature?
    let madeAt: Date?

    /// - Parameters:
    ///   - trouble: what it met before.
    ///   - isWatched: whether it holds what is owed, or was handed in for something else since it was taken in hand.
    ///   - lacks: what it was uploaded for and nothing brought: that may come, and after some nights it is only listed.
    init(_ receipt: TriedReceipt, after trouble: ReceiptTrouble?, isWatched: Bool, lacks: String?) {
        id = receipt.id
        signature = receipt.signature
        madeAt = receipt.madeAt
        switch receipt.outcome {
        case .verified:
            let isAwaited =
                lacks != nil && trouble.nights(meetingNow: .transactionMissing) < Patience.nightsWithoutNamed
            (state, isVerified) = (isWatched || isAwaited ? .watched : .settled, true)
            problem = lacks == nil ? nil : .transactionMissing
            detail = lacks.map { "it was uploaded for transaction \($0), which it does not hold" }
        case .tryAgain(let problem, let detail):
            (state, isVerified, self.problem, self.detail) = (.waiting, false, problem, detail)
        case .unusable(let problem, let detail):
            // Apple is asked on about what is owed by an earlier answer: a refusal may pass, and a refund be told then.
            (state, isVerified, self.problem, self.detail) = (isWatched ? .waiting : .unusable, false, problem, detail)
        }
        attempts = problem.map { Int32(clamping: trouble.nights(meetingNow: $0)) } ?? 0
    }
}
