package import Foundation
package import Ledger
package import Reconciliation

/// Purges bucket by bucket, one small transaction after the other, so that nothing waits for it.
package struct Purger {
    let session: LedgerSession
    let retention: Retention
    let now: Date
    let stop: StopSignal
    let runID: Int64?

    /// - Parameter runID: the run that purges; `nil` for the command.
    package init(session: LedgerSession, retention: Retention, now: Date, stop: StopSignal, runID: Int64? = nil) {
        self.session = session
        self.retention = retention
        self.now = now
        self.stop = stop
        self.runID = runID
    }

    /// The most rows that one transaction purges.
    private static let batch = 1000
    /// The most of each kind that a night purges, a few seconds' work: the first purge of years must not make it long.
    package static let mostInANight = 50_000

    /// How many days back a night looks for orders whose time was over: looking at all that were ever paid would take
    /// ever longer.
    private static let daysOfOrders = 14
    private static let day: TimeInterval = 86_400

    /// Purges until nothing is left that may go, or the stop is asked for, and notes what is gone in the trail.
    ///
    /// - Parameter purged: counts what is gone, each batch once it is committed: after an error, too.
    package func purge(into purged: inout Purged) async throws(LedgerError) {
        try await noting(&purged) { purged async throws(LedgerError) in
            let oldest = try await session.oldestPurgeableOrder(retention, now: now)
            try await purge(ordersFrom: oldest, most: .max, into: &purged)
        }
    }

    /// Purges what a night has time for, and notes what is gone in the trail.
    ///
    /// - Parameter purged: counts as for `purge(into:)`.
    package func purgeOfANight(into purged: inout Purged) async throws(LedgerError) {
        try await noting(&purged) { purged async throws(LedgerError) in
            let first = retention.orders.map { now - $0 - Double(Self.daysOfOrders) * Self.day }
            try await purge(ordersFrom: first, most: Self.mostInANight, into: &purged)
        }
    }

    private func noting(
        _ purged: inout Purged, _ purge: (inout Purged) async throws(LedgerError) -> Void
    ) async throws(LedgerError) {
        do throws(LedgerError) {
            try await purge(&purged)
        } catch {
            // What was committed before is gone, and the trail counts it wherever the session can still write.
            try? await note(purged)
            throw error
        }
        try await note(purged)
    }

    private func note(_ purged: Purged) async throws(LedgerError) {
        guard purged.total > 0 else { return }
        try await session.notePurge(purged, runID: runID, now: now)
    }

    private func purge(ordersFrom first: Date?, most: Int, into purged: inout Purged) async throws(LedgerError) {
        try await purgeReceipts(most: most, into: &purged)
        if let first { try await purgeOrders(from: first, most: most, into: &purged) }
        try await purgeRefusedNotices(most: most, into: &purged)
    }

    private func purgeRefusedNotices(most: Int, into purged: inout Purged) async throws(LedgerError) {
        while purged.notices < most, !stop.isRequested {
            let room = min(Self.batch, most - purged.notices)
            let last = try await retryingConflicts { () async throws(LedgerError) in
                try await session.purgeRefusedNotices(most: room, now: now)
            }
            purged.notices += last
            if last < room { break }
        }
    }

    /// Purges orders day by day, the oldest first.
    private func purgeOrders(from first: Date, most: Int, into purged: inout Purged) async throws(LedgerError) {
        guard let kept = retention.orders else { return }
        var begin = first
        while begin < now - kept, !stop.isRequested {
            let (from, until) = (begin, min(begin + Self.day, now - kept))
            let room = min(Self.batch, most - purged.orders)
            guard room > 0 else { break }
            let last = try await retryingConflicts { () async throws(LedgerError) in
                try await session.purgeOrders(from: from, until: until, most: room)
            }
            purged.orders += last
            if last < room { begin = until }
        }
    }

    private func purgeReceipts(most: Int, into purged: inout Purged) async throws(LedgerError) {
        let buckets = try await retryingConflicts { () async throws(LedgerError) in
            try await session.purgeableBuckets(retention, now: now)
        }
        for bucket in buckets {
            var last = Purged(payloads: Self.batch)
            while max(last.payloads, last.devices) >= Self.batch, !stop.isRequested {
                let room = min(Self.batch, most - max(purged.payloads, purged.devices))
                guard room > 0 else { return }
                last = try await retryingConflicts { () async throws(LedgerError) in
                    try await session.purge(retention, bucket: bucket, most: room, now: now)
                }
                purged += last
            }
        }
    }
}
