import Foundation
import Job
import NightlyRun
import Reconciliation
import Reporting

extension CommandRunner {
    /// Runs the nightly job, from the inbox to the report and the notifications. A dry run notifies nobody.
    func run(_ options: RunOptions, reportDirectory: String?) async throws -> ExitCode {
        let stop = StopSignal()
        let signals = await Signals(stop)
        defer { withExtendedLifetime(signals) { console.clear() } }
        guard !options.isDryRun else { return try await night(options, reportDirectory, stop, nil).code }
        let telling = RunNotifications(configuration, console)
        await telling.begin()
        do {
            let ended = try await night(options, reportDirectory, stop, telling)
            await telling.end(as: ended.code, because: ended.reason)
            return ended.code
        } catch {
            console.clear()
            let failure = Failure(error)
            await telling.end(as: failure.code, because: failure.publicMessage)
            throw error
        }
    }

    /// Tells of a run that can't begin because a secret can't be read, for example a new one that only root can read.
    /// Nobody is told if the configuration itself can't be understood.
    static func tell(ofRefused error: ConfigurationError, _ invocation: Invocation) async {
        guard case .run(let options, _) = invocation.command, !options.isDryRun,
            let configuration = try? Configuration.read(
                invocation.configuration, secrets: .ofThisProcessWhereReadable)
        else { return }
        let telling = RunNotifications(configuration, Console(invocation))
        await telling.begin()
        let failure = Failure(error)
        await telling.end(as: failure.code, because: failure.publicMessage)
    }

    private func night(
        _ options: RunOptions, _ reportDirectory: String?, _ stop: StopSignal, _ telling: RunNotifications?
    ) async throws -> (code: ExitCode, reason: String?) {
        try requireApps()
        try requireOpenFiles()
        var writer = try reportWriter(reportDirectory)
        defer { telling?.note(writer) }
        var settings = configuration.settings
        settings.decisions = configuration.decisionsDirectory.map {
            DecisionFolder(path: $0, database: configuration.supportDatabase, form: .ofReports)
        }
        let job = NightlyJob(
            settings: settings, programVersion: Help.version,
            log: { [console] entry in
                telling?.note(entry)
                // The number of a dry run is that of the next run, too.
                console.log(options.isDryRun ? LogEntry(entry.level, entry.message, fields: entry.fields) : entry)
            }, progress: console.show)
        let report: RunReport
        do {
            report = try await job.run(options, stop: stop, findings: &writer)
        } catch let error as JobError {
            // No receipt was judged, but sources were read, cases looked at and the books closed.
            if case .appleUnavailable = error {
                console.clear()
                finish(writer)
            }
            throw error
        }
        telling?.note(report)
        console.clear()
        finish(writer)
        console.show(report.stages)
        switch report.outcome {
        case .complete: return (.done, nil)
        case .endedEarly(let reason): return (.tryLater, reason)
        }
    }

    /// Writes the latest run's report again.
    func report(run: Int64?, reportDirectory: String?) async throws -> ExitCode {
        var writer = try reportWriter(reportDirectory, isWrittenAgain: true)
        let job = NightlyJob(
            settings: configuration.settings, programVersion: Help.version, log: console.log, progress: console.show)
        _ = try await job.report(run: run, findings: &writer)
        finish(writer)
        return .done
    }

    private func reportWriter(_ directory: String?, isWrittenAgain: Bool = false) throws -> ReportWriter {
        try ReportWriter(
            directory: directory ?? configuration.reportDirectory, language: configuration.reportLanguage,
            programVersion: Help.version, isWrittenAgain: isWrittenAgain)
    }

    private func finish(_ writer: ReportWriter) {
        StandardOutput.write(writer.summary)
        console.log(LogEntry(.info, "report written", fields: ["to": writer.location]))
        guard writer.isNamesake else { return }
        console.log(
            LogEntry(
                .warning,
                "another run's report has the name that this one would have had; if several databases share the "
                    + "report directory, give each its own with “directory” in [report]",
                fields: ["report": writer.location]))
    }

    private func requireApps() throws(ConfigurationError) {
        guard configuration.settings.apps.isEmpty else { return }
        throw ConfigurationError(
            file: invocation.configuration, line: nil,
            text: "no app is named; add a section such as [app com.example.game]")
    }

    private func requireOpenFiles() throws(ConfigurationError) {
        guard let shortage = OpenFiles.shortage(for: configuration.settings) else { return }
        throw ConfigurationError(
            file: invocation.configuration, line: nil, text: "\(shortage); allow more (ulimit -n), or lower them")
    }
}
