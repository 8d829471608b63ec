import Foundation
import NightlyRun
import Reconciliation
import Reporting

extension Work {
    /// The nightly job, from the inbox to the report.
    func run(_ options: RunOptions, reportDirectory: String?) async throws -> ExitCode {
        try requireApps()
        var writer = try reportWriter(reportDirectory)
        let stop = StopSignal()
        let signals = Signals(stop)
        let job = NightlyJob(
            settings: configuration.settings, programVersion: Help.version, log: console.log, progress: console.show)
        defer { withExtendedLifetime(signals) { console.clear() } }
        let report = try await job.run(options, stop: stop, findings: &writer)
        console.clear()
        finish(writer)
        if invocation.verbosity == .verbose { StandardError.write(StageTable.text(report.stages)) }
        switch report.outcome {
        case .complete: return .done
        case .endedEarly: return .tryLater
        }
    }

    /// Writes a run's report again.
    func report(run: Int64?, reportDirectory: String?) async throws -> ExitCode {
        var writer = try reportWriter(reportDirectory)
        let job = NightlyJob(
            settings: configuration.settings, programVersion: Help.version, log: console.log, progress: console.show)
        _ = try await job.report(run: run, findings: &writer)
        finish(writer)
        return .done
    }

    private func reportWriter(_ directory: String?) throws -> ReportWriter {
        try ReportWriter(
            directory: directory ?? configuration.reportDirectory, language: configuration.reportLanguage,
            programVersion: Help.version)
    }

    private func finish(_ writer: ReportWriter) {
        StandardOutput.write(writer.summary)
        console.log(LogEntry(.info, "report written", fields: ["to": writer.location]))
    }

    private func requireApps() throws(ConfigurationError) {
        guard configuration.settings.apps.isEmpty else { return }
        throw ConfigurationError(
            file: invocation.configuration, line: nil,
            text: "no app is named; add a section such as [app com.example.game]")
    }
}
