import Foundation
import Job
import Notifications
import Reconciliation
import Reporting
import Synchronization

/// Notes what becomes known of a run while it goes on, and tells those whom the configuration names. Failures are
/// logged and printed; they never decide how the run ends.
final class RunNotifications: Sendable {
    private struct Notes {
        var runID: Int64?
        var findings: RunReport?
        var report: WrittenReport?
        /// The results of telling that the run begins.
        var begun: [NotificationResult] = []
    }

    private let telling: Notifier
    private let reportAddress: String?
    private let console: Console
    private let startedAt = Date()
    private let notes = Mutex(Notes())

    init(_ configuration: Configuration, _ console: Console) {
        telling = Notifier(configuration.telling, programVersion: Help.version)
        reportAddress = configuration.reportAddress
        self.console = console
    }

    /// Notes the run's id, which every entry names, so that it is known even if the run ends early.
    func note(_ entry: LogEntry) {
        guard let runID = entry.runID else { return }
        notes.withLock { $0.runID = runID }
    }

    func note(_ findings: RunReport) {
        notes.withLock { $0.findings = findings }
    }

    func note(_ writer: ReportWriter) {
        let report =
            writer.location.isEmpty
            ? nil
            : WrittenReport(
                folder: writer.location, url: reportAddress.map { Self.page(of: writer.location, below: $0) },
                summary: writer.summary)
        let findings = writer.run
        notes.withLock { notes in
            notes.findings = notes.findings ?? findings
            notes.report = report
        }
    }

    func begin() async {
        let told = await telling.begin()
        notes.withLock { $0.begun = told }
        log(told)
    }

    func end(as code: ExitCode, because reason: String?) async {
        let notes = notes.withLock { $0 }
        let told = await telling.end(
            RunNews(
                runID: notes.runID, exitCode: code, reason: reason, startedAt: startedAt, finishedAt: Date(),
                host: ProcessInfo.processInfo.hostName, programVersion: Help.version, findings: notes.findings,
                report: notes.report))
        log(told)
        StandardOutput.write(Self.text(notes.begun, told))
    }

    private func log(_ told: [NotificationResult]) {
        for told in told {
            guard let failure = told.failure else {
                console.log(LogEntry(.debug, "\(told.way.rawValue): told"))
                continue
            }
            console.log(LogEntry(.warning, "\(told.way.rawValue): not told: \(failure)"))
        }
    }

    /// The lines to follow the summary, with its columns.
    static func text(_ begun: [NotificationResult], _ ended: [NotificationResult]) -> String {
        let ways = ended.filter { $0.failure == nil }.map(\.way.rawValue)
        let failures =
            begun.compactMap { told in told.failure.map { "\(told.way.rawValue) at the start: \($0)" } }
            + ended.compactMap { told in told.failure.map { "\(told.way.rawValue): \($0)" } }
        let rows = (ways.isEmpty ? [] : [("told", ways.joined(separator: ", "))]) + failures.map { ("not told", $0) }
        return rows.map { $0.0.padding(toLength: 18, withPad: " ", startingAt: 0) + "  \(Printable.line($0.1))\n" }
            .joined()
    }

    /// The URL of the report's page in that folder.
    static func page(of folder: String, below address: String) -> String {
        let base = address.hasSuffix("/") ? String(address.dropLast()) : address
        return "\(base)/\(URL(filePath: folder).lastPathComponent)/index.html"
    }
}
