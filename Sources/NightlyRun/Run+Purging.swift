import Job
import Ledger
import Reconciliation

extension Run {
    /// Purges what a night has time for. A failure is logged and fails no run: the next night tries again.
    func purge() async -> Purged {
        guard !night.isDryRun, !night.stop.isRequested else { return Purged() }
        let purger = Purger(
            session: session, retention: job.settings.retention, now: night.now, stop: night.stop, runID: night.runID)
        var purged = Purged()
        do throws(LedgerError) {
            try await purger.purgeOfANight(into: &purged)
        } catch {
            job.log(
                LogEntry(
                    .warning, "could not purge; the next night tries again",
                    fields: ["error": JobError(error).description], runID: night.runID))
        }
        return purged
    }
}
