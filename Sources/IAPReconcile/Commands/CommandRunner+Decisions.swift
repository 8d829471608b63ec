import Commands
import Foundation
import Intake
import Job
import Reconciliation
import Reporting

extension CommandRunner {
    /// Reads back the decisions in a report's spreadsheet. Ends with 65 if a line was refused.
    func resolveFile(_ options: DecisionOptions) async throws -> ExitCode {
        let stop = StopSignal()
        let signals = await Signals(stop)
        defer { withExtendedLifetime(signals) {} }
        let tally = try await DecisionJob(settings: supportSettings, form: .ofReports).run(
            options, besides: [invocation.configuration], stop: stop)
        StandardOutput.write(Self.text(tally, of: options))
        guard tally.isComplete else {
            console.log(LogEntry(.warning, "stopped before the file's end; read it again to take the rest"))
            return .tryLater
        }
        return tally.refusedCount == 0 ? .done : .dataError
    }

    private static func text(_ tally: DecisionTally, of options: DecisionOptions) -> String {
        var text = "\(options.isDryRun ? "would be done" : "done") \(tally.done), so already \(tally.already), "
        text += "refused \(tally.refusedCount)\n"
        for reason in DecisionRefusal.allCases {
            if let count = tally.refused[reason] { text += "  \(reason.rawValue) \(count)\n" }
        }
        return text + "each line is in \(options.resultFile)\n"
    }
}

extension DecisionForm {
    /// The form of decisions in this program's reports.
    static let ofReports = DecisionForm(
        vocabulary: ReportLanguage.decisionVocabulary, line: { CSV.line($0) })
}
