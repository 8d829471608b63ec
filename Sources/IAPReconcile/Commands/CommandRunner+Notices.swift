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
                summary = try await intake.take(file, naming: RefusedLines.named, stop: stop)
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
            let unnamed = summary.refusedCount - summary.refused.count
            if unnamed > 0 {
                let text = unnamed.counted("more line was refused", "more lines were refused")
                console.log(LogEntry(.warning, text, fields: ["file": file]))
            }
            StandardOutput.write(
                "\(file): \(summary.taken) taken for the next run, \(summary.refusedCount) refused\n")
            areGood = areGood && summary.refusedCount == 0
        }
        return areGood ? .done : .dataError
    }
}
