import Commands
import Job
import Reconciliation

extension CommandRunner {
    /// Takes notifications of Apple's from files, and says what became of their lines.
    func takeNotices(_ files: [String]) async throws -> ExitCode {
        let stop = StopSignal()
        let signals = await Signals(stop)
        defer { withExtendedLifetime(signals) {} }
        let intake = NoticeIntake(settings: configuration.settings)
        var areGood = true
        for file in files {
            let summary: NoticeIntake.Summary
            do {
                summary = try await intake.take(file, stop: stop)
            } catch is CancellationError {
                console.log(
                    LogEntry(
                        .warning, "stopped before the file's end; read it again to take the rest",
                        fields: ["file": file]))
                return .tryLater
            }
            for (line, why) in summary.refused {
                console.log(LogEntry(.warning, why, fields: ["file": file, "line": String(line)]))
            }
            StandardOutput.write(
                "\(file): \(summary.taken) taken for the next run, \(summary.refused.count) refused\n")
            areGood = areGood && summary.refused.isEmpty
        }
        return areGood ? .done : .dataError
    }
}
