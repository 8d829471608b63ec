import Job
import Ledger
import Reconciliation

extension Run {
    /// Purges what a night has time for. A failure is logged and fails no run: the next night tries again.
    func purge() async -> Purged {
        guard !night.isDryRun, !night.stop.isRequested else { return Purged() }
        let purger = Purger(
            session: session, retention: job.settings.retention, now: night.now, stop: night.stop)
        // What was committed before a failure is gone, and counts.
        var purged = Purged()
        do throws(LedgerError) {
            try await purger.purgeOfANight(into: &purged)
        } catch {
            warn("could not purge; the next night tries again", error)
        }
        guard purged.total > 0 else { return purged }
        do throws(LedgerError) {
            try await session.notePurge(purged, runID: night.runID, now: night.now)
        } catch {
            warn("could not note what was purged", error)
        }
        return purged
    }

    private func warn(_ text: String, _ error: LedgerError) {
        let fields = ["error": JobError(error).description]
        job.log(LogEntry(.warning, text, fields: fields, runID: night.runID))
    }
}
