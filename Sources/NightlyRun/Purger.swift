package import Foundation
package import Ledger
package import Reconciliation

/// Purges bucket by bucket, a small transaction after the other, so that nothing waits for it.
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

    /// In one transaction.
    private static let batch = 1000
    /// A night takes away no more, of each kind: the first purge of years must not make it long. A few seconds' work.
    static let mostInANight = 50_000

    /// Purges until nothing is left that may go, the limit is reached, or the stop is asked for.
    package func purge(most: Int = .max) async throws(LedgerError) -> Purged {
        var purged = Purged()
        for bucket in LedgerSession.buckets {
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

extension Run {
    /// What a night takes away. That it can't is told and fails no run: the next night takes it.
    func purge() async -> Purged {
        guard !night.isDryRun, !night.stop.isRequested else { return Purged() }
        let purger = Purger(
            session: session, retention: job.settings.retention, now: night.now, stop: night.stop)
        do throws(LedgerError) {
            let purged = try await purger.purge(most: Purger.mostInANight)
            if purged.total > 0 { try await session.notePurge(purged, runID: night.runID, now: night.now) }
            return purged
        } catch {
            job.log(
                LogEntry(
                    .warning, "could not purge; the next night tries again",
                    fields: ["error": JobError(error).description], runID: night.runID))
            return Purged()
        }
    }
}
