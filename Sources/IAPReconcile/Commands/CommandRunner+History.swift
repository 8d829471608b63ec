import Commands
import Job
import Reconciliation
import Reporting

extension CommandRunner {
    /// Prints the runs of the last days, with what they found.
    func history(days: Int, asJSON: Bool) async throws -> ExitCode {
        let runs = try await PastRuns(settings: supportSettings).list(days: days)
        let text = HistoryText(timeZone: configuration.settings.timeZone)
        StandardOutput.write(asJSON ? try HistoryJSON.text(of: runs) + "\n" : text.text(of: runs))
        return .done
    }

    /// Prints how the cases of two runs differ.
    func diff(from: Int64, to: Int64, asJSON: Bool) async throws -> ExitCode {
        let differences = try await PastRuns(settings: supportSettings).differences(from: from, to: to)
        let text = DifferenceText(timeZone: configuration.settings.timeZone)
        StandardOutput.write(
            asJSON ? try HistoryJSON.text(of: differences) + "\n" : text.text(of: differences))
        return .done
    }
}
