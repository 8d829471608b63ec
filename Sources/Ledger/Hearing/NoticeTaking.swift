public import Foundation
import PostgreSQL
public import Reconciliation

/// Notices of one app and environment, ready to be taken in one database transaction.
public struct NoticeBatch: Sendable {
    public let runID: Int64
    /// The moment that the run takes for the present.
    public let now: Date
    public let notices: [HeardNotice]
    /// From when and up to when Apple's history is read with this batch; `nil` if that is no further than before.
    public var heardFrom: Date?
    public var heardThrough: Date?
    /// The entries of Apple's history that can't be used.
    public var refused: [RefusedNotice] = []
    /// The notifications of the app's server that end with this batch, except for those of transactions that another
    /// session has locked. The transaction is `nil` if a notification tells of none.
    public var handed: [HandedNotice.Key: TransactionID?] = [:]
    /// What each transaction is by Apple's latest word.
    let heard: [ScreenedTransaction]

    public init(runID: Int64, now: Date, notices: [HeardNotice]) {
        self.runID = runID
        self.now = now
        self.notices = notices
        heard = notices.map(\.transaction).latest()
    }

    /// The notifications of the app's server that end, if another session has these transactions locked: what tells of
    /// one of them waits for the next night.
    public func handed(whileLocked locked: [TransactionID]) -> [HandedNotice.Key: TransactionID?] {
        let locked = Set(locked)
        return handed.filter { !($0.value.map(locked.contains) ?? false) }
    }
}

extension LedgerSession {
    /// Takes notices: keeps each once, changes the known transactions as Apple tells, puts the unknown ones into the
    /// inbox, and moves the mark up to which Apple's history was read, all in one database transaction. Taking the same
    /// again changes nothing.
    ///
    /// - Throws: `LedgerError.conflict` when another session's lock was in the way of all of it.
    public func take(
        _ batch: NoticeBatch, of bundleID: BundleID, in environment: Environment
    ) async throws(LedgerError) -> NoticeTotals {
        try await translating {
            try await prepare(.notices)
            return try await connection.transaction {
                var totals = NoticeTotals()
                var (from, through) = (batch.heardFrom, batch.heardThrough)
                if !batch.notices.isEmpty {
                    try await stage(batch.heard, told: batch.notices)
                    try await pullHeardShadows()
                    let taken = try await connection.only(
                        "SELECT fresh, unknown, locked, held_since FROM iap.take_notices(\(batch.runID), \(batch.now))")
                    totals = try await self.totals(taken, at: batch.now)
                    // What was locked is read again.
                    if let held = try taken.decode("held_since", as: Date?.self) {
                        through = through.map { min($0, held) }
                        // It lies before what was read until now: all of it is asked for again.
                        if through == nil { from = nil }
                    }
                }
                try await keep(batch.refused, of: bundleID, at: batch.now)
                checkpoint(.noticesTaken)
                try await connection.execute(
                    """
                    SELECT iap.note_hearing(
                        \(bundleID.text), \(environment.rawValue), \(from), \(through),
                        \(batch.notices.map(\.signedAt).max()), \(batch.now), NULL)
                    """)
                try await end(batch.handed(whileLocked: totals.locked).keys)
                checkpoint(.noticesCommitting)
                return totals
            }
        }
    }

    private func totals(_ taken: Row, at now: Date) async throws -> NoticeTotals {
        var totals = NoticeTotals()
        totals.fresh = try taken.decode("fresh", as: Int.self)
        totals.locked = try taken.ids("locked")
        totals.unknown = try await handIn(try taken.decode("unknown", as: [Int32].self), at: now)
        return totals
    }

    /// Puts the transactions of the staged batch with these numbers, which nobody knows, into the inbox, and says how
    /// many were not there yet; in a dry run how many there are.
    func handIn(_ unknown: [Int32], at now: Date) async throws -> Int {
        guard !unknown.isEmpty, !isShadowed else { return unknown.count }
        // Otherwise a crash may keep the receipts and lose the notices, which would not name them when heard again.
        try await commitInTwoPhases()
        return try await connection.only("SELECT iap.hand_in(\(unknown), \(now)) AS handed").decode("handed")
    }

    /// Copies what Apple told into the session's staging tables.
    ///
    /// - Parameter heard: what each transaction is by Apple's latest word.
    func stage(_ heard: [ScreenedTransaction], told notices: [HeardNotice]) async throws {
        var numbers: [TransactionKey: Int32] = [:]
        for (number, heard) in heard.enumerated() { numbers[heard.key] = Int32(truncatingIfNeeded: number) }
        try await stage(heard: heard)
        let told = try await connection.copyIn(into: Self.told, rows: notices) { notice, row in
            row.append(numbers[notice.transaction.key])
            notice.append(to: &row)
        }
        guard told == notices.count else {
            throw LedgerError.failed("staged \(told) of \(notices.count) notices")
        }
    }

    private static let told = CopyTarget(
        table: "told",
        columns: [
            "number", "transaction_id", "bundle_id", "environment", "notice_uuid", "type", "subtype", "signed_at",
            "heard_by", "sending", "attempts", "last_attempt_at", "last_result", "consumption_reason",
            "signed_transaction",
        ])
}

extension HeardNotice {
    fileprivate func append(to row: inout CopyRow) {
        row.append(transaction.key.id.text)
        row.append(transaction.key.bundleID.text)
        row.append(transaction.key.environment.rawValue)
        row.append(uuid)
        row.append(type)
        row.append(subtype)
        row.append(signedAt)
        row.append(way.rawValue)
        row.append(sending?.state.rawValue)
        row.append((sending?.attempts).map { Int32(clamping: $0) })
        row.append(sending?.lastAttemptAt)
        row.append(sending?.lastResult)
        row.append(consumptionReason)
        row.append(signedTransaction)
    }
}
