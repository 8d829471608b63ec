import Foundation
import Job
import Ledger
import Reconciliation
import Verification

/// What all stages of one run go by.
struct RunContext: Sendable {
    let runID: Int64
    /// The moment that the run takes for the present.
    let now: Date
    let isDryRun: Bool
    let settings: JobSettings
    let services: AppleServices
    let screener: Screener
    let stop: StopSignal
    let stopwatch: Stopwatch
    let log: @Sendable (LogEntry) -> Void

    /// Logs what belongs to this run.
    func log(_ level: LogEntry.Level, _ message: String, fields: [String: String] = [:]) {
        log(LogEntry(level, message, fields: fields, runID: runID))
    }
}

extension RunContext {
    init(_ row: RunRow, _ start: NightStart, _ screener: Screener, _ stopwatch: Stopwatch) {
        self.init(
            runID: row.runID, now: row.present.moment, isDryRun: row.isDryRun, settings: row.job.settings,
            services: start.services, screener: screener, stop: start.stop, stopwatch: stopwatch, log: row.job.log)
    }
}
