package import Foundation
package import Ledger
package import Reconciliation

/// Purges bucket by bucket, one small transaction after the other, so that nothing waits for it.
package struct Purger {
    let session: LedgerSession
    let retention: Retention
    let now: Date
    let stop: StopSignal

    package init(session: LedgerSession, retention: Retention, now: Date, stop: StopSignal) {
        self.session = session
        self.retention = retention
        self.now = now
        self.stop = stop
    }

    /// The most rows that one transaction purges.
    private static let batch = 1000
    /// The most of each kind that a night purges, a few seconds' work: the first purge of years must not make it long.
    package static let mostInANight = 50_000

    /// How many days back a night looks for orders whose time was over: looking at all that were ever paid would take
    /// ever longer.
    private static let daysOfOrders = 14
    private static let day: TimeInterval = 86_400

    /// Purges until nothing is left that may go, or the stop is asked for.
    package func purge() async throws(LedgerError) -> Purged {
        var purged = try await purgeReceipts(most: .max)
        if let oldest = try await session.oldestPurgeableOrder(retention, now: now) {
            purged.orders = try await purgeOrders(from: oldest, most: .max)
        }
        purged.notices = try await purgeRefusedNotices(most: .max)
        return purged
    }

    /// Purges what a night has time for.
    package func purgeOfANight() async throws(LedgerError) -> Purged {
        var purged = try await purgeReceipts(most: Self.mostInANight)
        if let kept = retention.orders {
            let first = now - kept - Double(Self.daysOfOrders) * Self.day
            purged.orders = try await purgeOrders(from: first, most: Self.mostInANight)
        }
        purged.notices = try await purgeRefusedNotices(most: Self.mostInANight)
        return purged
    }

    private func purgeRefusedNotices(most: Int) async throws(LedgerError) -> Int {
        var purged = 0
        while purged < most, !stop.isRequested {
            let room = min(Self.batch, most - purged)
            let last = try await retryingConflicts { () async throws(LedgerError) in
                try await session.purgeRefusedNotices(most: room, now: now)
            }
            purged += last
            if last < room { break }
        }
        return purged
    }

    /// Purges orders day by day, the oldest first.
    private func purgeOrders(from first: Date, most: Int) async throws(LedgerError) -> Int {
        guard let kept = retention.orders else { return 0 }
        var purged = 0
        var begin = first
        while begin < now - kept, !stop.isRequested {
            let (from, until) = (begin, min(begin + Self.day, now - kept))
            let room = min(Self.batch, most - purged)
            guard room > 0 else { break }
            let last = try await retryingConflicts { () async throws(LedgerError) in
                try await session.purgeOrders(from: from, until: until, most: room)
            }
            purged += last
            if last < room { begin = until }
        }
        return purged
    }

    private func purgeReceipts(most: Int) async throws(LedgerError) -> Purged {
        var purged = Purged()
        for bucket in try await session.purgeableBuckets(retention, now: now) {
            var last = Purged(payloads: Self.batch)
            while max(last.payloads, last.devices) >= Self.batch, !stop.isRequested {
                let room = min(Self.batch, most - max(purged.payloads, purged.devices))
                guard room > 0 else { return purged }
                last = try await retryingConflicts { () async throws(LedgerError) in
                    try await session.purge(retention, bucket: bucket, most: room, now: now)
                }
                purged += last
            }
        }
        return purged
    }
}
