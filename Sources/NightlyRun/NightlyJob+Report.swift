import Foundation
import Job
import Ledger
public import Reconciliation
import Verification

extension NightlyJob {
    /// Hands over again the findings of the latest run that closed its books.
    ///
    /// - Parameter runID: that run, if it is named.
    /// - Throws: as `run`; `JobError.notFound` if there is none, or if the named one is not the latest: which cases
    ///   were open then is not kept, and today's would stand beside that run's figures.
    public func report(run runID: Int64?, findings: inout some FindingsReceiver) async throws -> RunReport {
        do {
            return try await writeAgain(runID, findings: &findings)
        } catch let error as LedgerError {
            throw JobError(error, workingAs: .job)
        }
    }

    private func writeAgain(
        _ runID: Int64?, findings: inout some FindingsReceiver
    ) async throws -> RunReport {
        let session = try await LedgerSession.connectToCurrentSchema(settings.ledger)
        defer { session.close() }
        guard let kept = try await session.latestRun() else {
            throw JobError.notFound("No run has closed its books yet; run “iap-reconcile run” first.")
        }
        if let runID, runID != kept.runID {
            let why =
                runID < kept.runID
                ? "which cases were open at run \(runID) is not kept. What was written then is in its own folder."
                : "no run \(runID) has closed any."
            throw JobError.notFound(
                "The latest run that closed its books is run \(kept.runID), and only its report can be written again: "
                    + why)
        }
        let apps = settings.apps.map(\.app)
        var head = RunReport(kept, timeZone: settings.timeZone)
        head.trail = kept.trail
        head.sources = try await pulls(session, at: kept.asOf)
        head.hearings = try await session.hearings(of: apps, now: kept.asOf)
        if kept.isUnreported {
            head.outcome =
                kept.told
                ?? RunOutcome(untried: head.receipts.left, sources: head.sources, hearings: head.hearings)
        }
        head.redeliveries = try await session.redeliveryFigures(runID: kept.runID)
        try await compare(&head, of: kept.runID, session)
        // As many cases as are listed: what the support desk closed since is none any more.
        head.take(
            try await CaseFigures(
                session, runID: kept.runID, now: kept.asOf, apps: apps,
                expected: try await session.expectedDeliveries(of: apps)))
        try await FindingsStage(session: session, apps: apps, runID: kept.runID, now: kept.asOf)
            .hand(head, to: &findings)
        return head
    }
}

extension RunReport {
    fileprivate init(_ run: KeptRun, timeZone: TimeZone) {
        self.init(
            runID: run.runID, startedAt: run.startedAt, finishedAt: run.finishedAt, now: run.asOf,
            timeZone: timeZone, outcome: run.reason.map { .endedEarly($0) } ?? .complete, receipts: run.receipts,
            totals: run.totals)
        cases = run.cases
        pending = run.pending
        stages = run.stages
        heard = run.heard
        asked = run.asked
        purged = run.purged
        leftOut = run.leftOut
    }
}
