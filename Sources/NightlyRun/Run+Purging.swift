import Job
import Ledger
import Reconciliation

extension Run {
    /// Purges what a night has time for. A failure is logged and fails no run: the next night tries again.
    func purge() async -> Purged {
        guard !context.isDryRun, !context.stop.isRequested else { return Purged() }
        let purger = Purger(
            session: session, retention: job.settings.retention, now: context.now, stop: context.stop,
            runID: context.runID)
        var purged = Purged()
        do throws(LedgerError) {
            try await purger.purgeOfANight(into: &purged)
        } catch {
            context.log(
                .warning, "could not purge; the next night tries again",
                fields: ["error": JobError(error).description])
        }
        return purged
    }
}
