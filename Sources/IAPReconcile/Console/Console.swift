import Foundation
import Job
import Reconciliation
import Synchronization

/// Standard error as the job uses it: log lines, and on a terminal a progress bar that they don't break.
final class Console: Sendable {
    private struct State {
        /// The bar on the terminal's last line.
        var bar: String?
    }

    private let format: LogFormat
    private let least: LogEntry.Level
    private let showsProgress: Bool
    private let isColoured: Bool
    private let write: @Sendable (String) -> Void
    private let state = Mutex(State())

    init(
        format: LogFormat, verbosity: Verbosity, isTerminal: Bool, environment: [String: String],
        write: @escaping @Sendable (String) -> Void = { StandardError.write($0) }
    ) {
        self.format = format
        self.write = write
        least =
            switch verbosity {
            case .quiet: .warning
            case .normal: .info
            case .verbose: .debug
            }
        let isDumb = environment["TERM"] == "dumb"
        showsProgress = isTerminal && !isDumb && format == .text && verbosity != .quiet
        // https://no-color.org: any value but the empty one.
        isColoured = isTerminal && !isDumb && format == .text && (environment["NO_COLOR"] ?? "").isEmpty
    }

    /// The console of this process.
    convenience init(_ invocation: Invocation) {
        self.init(
            format: invocation.logFormat, verbosity: invocation.verbosity, isTerminal: isatty(STDERR_FILENO) == 1,
            environment: ProcessInfo.processInfo.environment)
    }

    func log(_ entry: LogEntry) {
        guard entry.level >= least else { return }
        let line = LogLine(entry, at: Date()).text(as: format, isColoured: isColoured)
        state.withLock { state in
            write(state.bar.map { "\(ProgressBar.erase)\(line)\n\($0)" } ?? line + "\n")
        }
    }

    /// Says why a command changed nothing: a sentence for people, a log line for machines.
    func sayUnchanged(_ why: String) {
        let text = "nothing was changed: \(why)"
        switch format {
        case .text: write("iap-reconcile: \(text)\n")
        case .json: log(LogEntry(.error, text))
        }
    }

    /// Shows how long each stage took, if everything is to be said: a table for people, a line for each stage for
    /// machines.
    func show(_ stages: [StageTime]) {
        guard least == .debug else { return }
        switch format {
        case .text: write(StageTable.text(stages))
        case .json:
            for stage in stages {
                let took = ["stage": stage.name, "seconds": String(stage.seconds), "items": String(stage.items)]
                log(LogEntry(.debug, "stage ended", fields: took))
            }
        }
    }

    func show(_ progress: RunProgress) {
        guard showsProgress else { return }
        let bar = ProgressBar.text(progress)
        state.withLock { state in
            guard state.bar != bar else { return }
            state.bar = bar
            write(ProgressBar.erase + bar)
        }
    }

    /// Removes the progress bar.
    func clear() {
        state.withLock { state in
            if state.bar != nil { write(ProgressBar.erase) }
            state.bar = nil
        }
    }
}
