import Foundation
import Intake
public import Job
import Ledger
public import Reconciliation
import Verification

/// The nightly job: from receipts waiting in PostgreSQL to the findings of a report.
public struct NightlyJob: Sendable {
    let settings: JobSettings
    let programVersion: String
    let log: @Sendable (LogEntry) -> Void
    let progress: @Sendable (RunProgress) -> Void

    /// - Parameter programVersion: what the run's row says of the program that made it.
    public init(
        settings: JobSettings, programVersion: String, log: @escaping @Sendable (LogEntry) -> Void,
        progress: @escaping @Sendable (RunProgress) -> Void
    ) {
        self.settings = settings
        self.programVersion = programVersion
        self.log = log
        self.progress = progress
    }

    /// The ledger's settings, as of the moment that was named, if one was.
    func ledger(_ options: RunOptions) -> LedgerSettings {
        var ledger = settings.ledger
        ledger.present = options.asOf.named
        return ledger
    }

    /// Runs the job once and hands its findings over.
    ///
    /// - Throws: `JobError` when the work could not be done; what the receiver throws when the report can't be
    ///   written. What was committed before stays; the rest is still due.
    public func run(
        _ options: RunOptions, stop: StopSignal, findings: inout some FindingsReceiver
    ) async throws -> RunReport {
        do {
            let services = try AppleServices(settings.apple, apps: settings.apps)
            let reports = try salesReports(services)
            let session = try await LedgerSession.connect(ledger(options), waiting: settings.patience)
            defer { session.close() }
            let run = try await begin(
                NightStart(options: options, session: session, services: services, reports: reports, stop: stop))
            return try await run.carryOut(to: &findings)
        } catch let error as LedgerError {
            throw JobError(error, workingAs: .job)
        } catch let error as UnusableSetting {
            throw JobError(error)
        }
    }

    private func begin(_ start: NightStart) async throws -> Run {
        var start = start
        do {
            // A dry run's shadows exist only once.
            return try await retrying(patience: start.options.isDryRun ? 0 : settings.patience) { why in
                log(.lostDatabase(why))
                try await start.session.reconnect(within: settings.patience)
            } _: {
                checkpoint(.connected)
                return try await open(&start, at: try await prepare(start.session, start.options))
            }
        } catch let error as LedgerError {
            let named = await start.session.naming(error)
            // What was pulled and heard by then is booked.
            if start.isUnderWay, let interrupted = JobError(interruptedBy: named) { throw interrupted }
            throw named
        }
    }

    /// Takes what the company's own people, tables and sales reports tell, and begins the run.
    private func open(_ start: inout NightStart, at present: Present) async throws -> Run {
        checkpoint(.nightTaken)
        try await checkAccess(start)
        let stopwatch = Stopwatch()
        await takeDecisions(start, at: present)
        try await pullSources(&start, at: present, stopwatch)
        try await fetchSales(start, at: present, stopwatch)
        return try await Run.begin(self, &start, at: present, stopwatch)
    }

    /// Asks whether Apple takes the apps' keys. A key that Apple refuses holds up only the receipts of its app: each of
    /// them says so, and so does the report. If Apple does not answer, this takes minutes for each app, which a stop
    /// ends.
    private func checkAccess(_ start: NightStart) async throws(UnusableSetting) {
        let services = start.services
        let refused = await start.stop.cancelling { () async -> Result<[BundleID: String], UnusableSetting> in
            do throws(UnusableSetting) {
                return .success(try await services.checkAccess())
            } catch {
                return .failure(error)
            }
        }
        for (bundleID, why) in try refused.get() {
            log(
                LogEntry(
                    .warning, "Apple can't be asked by an app's key, and its receipts wait until that is mended",
                    fields: ["bundle_id": bundleID.text, "error": why]))
        }
    }

    /// Takes the decisions first of all, so that what was decided is no case of this night. A dry run leaves the files
    /// where they are.
    private func takeDecisions(_ start: NightStart, at present: Present) async {
        guard !start.options.isDryRun, let folder = settings.decisions else { return }
        await DecisionFolderTaking(
            folder: folder, settings: settings, stop: start.stop, present: present.moment, log: log
        ).take()
    }

    /// Pulls the sources. A dry run leaves no trace, so it takes nothing over and goes by what was pulled before.
    private func pullSources(_ start: inout NightStart, at present: Present, _ stopwatch: Stopwatch) async throws {
        guard !start.options.isDryRun, !settings.sources.isEmpty else { return }
        let puller = SourcePuller(settings: settings, stop: start.stop, present: present.moment, log: log)
        do {
            _ = try await stopwatch.time(.pull, items: \.self) { () async throws(LedgerError) in
                try await puller.pull(isUnderWay: &start.isUnderWay)
            }
        } catch {
            switch error {
            case .refused, .forbidden: throw JobError(error, workingAs: .imports)
            default: throw error
            }
        }
    }

    private func salesReports(_ services: AppleServices) throws(UnusableSetting) -> SalesReports? {
        guard let access = settings.sales else { return nil }
        return try services.salesReports(access)
    }

    private func fetchSales(
        _ start: NightStart, at present: Present, _ stopwatch: Stopwatch
    ) async throws(LedgerError) {
        guard !start.options.isDryRun, let reports = start.reports, let access = settings.sales else { return }
        let fetching = SalesFetching(
            access: access, reports: reports, settings: settings, stop: start.stop, present: present.moment, log: log)
        _ = try await stopwatch.time(.sales, items: \.self) { () async throws(LedgerError) in
            try await fetching.fetch()
        }
    }

    /// What the night of that moment pulled from the company's sources and from Apple's sales reports.
    func pulls(_ session: LedgerSession, at now: Date) async throws(LedgerError) -> [SourcePull] {
        let pulls = try await session.sourcePulls(settings.sources.map(\.name), at: now)
        guard let access = settings.sales, let sales = try await session.salesPull(of: access.vendorNumber, at: now)
        else { return pulls }
        return pulls + [sales]
    }

    /// Tells the report what stands beside its run's own figures: the runs before, Apple's sales reports, and the apps'
    /// figures that have a threshold.
    func compare(_ head: inout RunReport, of runID: Int64, _ session: LedgerSession) async throws(LedgerError) {
        head.history = try await session.history(upTo: runID)
        head.sales = try await session.salesFigures(of: .upTo(head.now))
        head.watched = try await session.watchedFigures(
            of: settings.apps.map(\.app), hearings: head.hearings, now: head.now)
    }

    /// Checks what is between here and the server, the schema and the clocks, takes the night's lock, and ends the rows
    /// of runs that were killed. A dry run writes nothing, so it takes no lock and puts its shadows in front.
    private func prepare(_ session: LedgerSession, _ options: RunOptions) async throws -> Present {
        if try await session.isPooledByTransaction(settings.ledger) {
            throw JobError.configuration(
                "A proxy between here and PostgreSQL pools transactions, so that no lock would hold: the job needs session "
                    + "pooling (pool_mode = session), or PostgreSQL itself. Nothing was done.")
        }
        try await session.checkSchema()
        try await session.checkRights()
        try await session.checkSequences()
        let present = try Present(options.asOf, try await session.time())
        try UpcomingApp.among(settings.apps, at: max(present.moment, present.clock)).check(log: log)
        if options.isDryRun {
            try await session.shadowTables()
            return present
        }
        try await takeNight(session)
        if let warning = present.warning { log(LogEntry(.warning, warning)) }
        for runID in try await session.abandonDeadRuns(at: present.clock) {
            log(LogEntry(.warning, "run \(runID) was killed before it ended; its receipts are due again"))
        }
        return present
    }

    /// A run that has just ended holds the lock until its server process is gone, a moment later.
    private func takeNight(_ session: LedgerSession) async throws {
        let night = LedgerLock.night(isShared: settings.workers == .shared)
        var backoff = DatabaseBackoff(within: 2, pause: 0.05...0.2)
        while true {
            if try await session.tryLock(night) { return }
            guard await backoff.mayTryAgain() else {
                throw JobError.anotherRun(Self.refusal(by: try await session.holders(of: night)))
            }
        }
    }

    /// Who may connect can find the lock in `pg_locks`, and keep it: it takes the name of the session to end that.
    private static func refusal(by holders: [LockHolder]) -> String {
        "Another run holds the night's lock" + (holders.isEmpty ? "" : ": ") + holders.named
            + ". Wait for it, or set “workers = shared” in [run] for both."
            + (holders.allSatisfy(\.isJob) ? "" : " If that session is no run, end it.")
    }
}
