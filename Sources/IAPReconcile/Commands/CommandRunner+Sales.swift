import Commands
import Intake
import Job
import Reconciliation

extension CommandRunner {
    /// Reads sales reports, and prints what was sold but not seen. Ends with 0 whatever the difference is.
    func readSales(_ files: [String], refusedFile: String?) async throws -> ExitCode {
        let stop = StopSignal()
        let signals = await Signals(stop)
        defer { withExtendedLifetime(signals) {} }
        var refused = try RefusedLines(file: refusedFile, inputs: files + [invocation.configuration], log: console.log)
        let job = SalesJob(settings: configuration.settings)
        let result: SalesResult
        do {
            result = try await job.run(files, stop: stop) { file, lines in
                try refused.take(lines.map { files.count > 1 ? $0.naming(file) : $0 })
            }
        } catch is CancellationError {
            console.log(LogEntry(.warning, "stopped before all reports were read; read them again"))
            return .tryLater
        }
        try refused.finish()
        for file in result.files { tell(file) }
        StandardOutput.write(SalesText.text(result))
        let areGood = result.files.allSatisfy { $0.problem == nil && $0.refusedCount == 0 }
        return areGood ? .done : .dataError
    }

    private func tell(_ file: SalesFile) {
        if let problem = file.problem { console.log(LogEntry(.error, "\(problem)")) }
        for day in file.days where day.standing == .kept {
            let text = "the earlier report of \(day.day) stays, for lines of this one were refused"
            console.log(LogEntry(.warning, text, fields: ["file": file.file]))
        }
        for day in file.days where day.standing == .outdated {
            let text = "the report of \(day.day) was corrected since by another, which stays"
            console.log(LogEntry(.warning, text, fields: ["file": file.file]))
        }
        for entry in file.unknownAppEntries(.warning) { console.log(entry) }
    }
}
