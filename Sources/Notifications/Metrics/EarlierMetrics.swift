import Foundation

/// What the next file takes over from that of the previous run.
struct EarlierMetrics: Equatable {
    static let runs = "runs_total"
    static let lastSuccess = "last_success_timestamp_seconds"

    /// Runs by exit code.
    var runs: [String: Int] = [:]
    var lastSuccess: String?

    init() {}

    /// Reads what this program wrote; lines that it can't have written are ignored.
    init(_ text: String) {
        for line in text.split(separator: "\n") {
            if let run = line.wholeMatch(of: /iap_reconcile_runs_total\{exit_code="(\d{1,3})"\} (\d{1,15})/) {
                runs[String(run.1)] = Int(run.2)
            } else if let success = line.wholeMatch(
                of: /iap_reconcile_last_success_timestamp_seconds (\d{1,12}\.\d{3})/)
            {
                lastSuccess = String(success.1)
            }
        }
    }
}
