public import Foundation
public import Reconciliation

/// What `iap-reconcile history` prints: a line a run, with a bar for the open cases.
public struct HistoryText {
    private let formats: Formats

    /// The width of the highest bar in columns of a terminal.
    private static let barWidth = 20

    /// - Parameter timeZone: the zone for times.
    public init(timeZone: TimeZone) {
        formats = Formats(timeZone: timeZone)
    }

    /// The text that lists these runs.
    public func text(of runs: [PastRun]) -> String {
        guard !runs.isEmpty else { return "No run yet.\n" }
        let most = runs.compactMap(\.cases?.total).max() ?? 0
        let table = TextTable(
            headings: [
                "run", "night", "open", "", "new", "reopened", "closed", "pending", "verified", "end",
                "paid, not delivered",
            ],
            figures: [0, 2, 4, 5, 6, 7, 8], rows: runs.map { row($0, most: most) })
        let reasons = runs.compactMap { run in
            run.reason.map { "run \(run.runID): \(Printable.text($0, longest: 300))" }
        }
        return "Times are of \(formats.zoneName).\n\n" + table.text
            + (reasons.isEmpty ? "" : "\n" + reasons.joined(separator: "\n") + "\n")
    }

    private func row(_ run: PastRun, most: Int) -> [String] {
        let verified = "\(run.receipts.verified)/\(run.receipts.due)"
        let found: [String] =
            if let cases = run.cases {
                [
                    String(cases.total), Self.bar(cases.total, of: most), String(cases.new), String(cases.reopened),
                    String(cases.closed.values.reduce(0, +)), String(run.pending), verified,
                ]
            } else {
                ["", "", "", "", "", "", verified]
            }
        let money = run.cases.map { MoneyText.list($0.money, unpriced: $0.unpriced) } ?? ""
        return [String(run.runID), formats.local(run.now)] + found + [Self.end(run), money]
    }

    /// Drawn in eighths of a column, so that a single case is visible.
    private static func bar(_ number: Int, of most: Int) -> String {
        guard number > 0, most > 0 else { return "" }
        let eighths = max(1, number * barWidth * 8 / most)
        let rest = eighths % 8 == 0 ? "" : ["▏", "▎", "▍", "▌", "▋", "▊", "▉"][eighths % 8 - 1]
        return String(repeating: "█", count: eighths / 8) + rest
    }

    private static func end(_ run: PastRun) -> String {
        switch (run.state, run.exitCode) {
        case (.running, _): "running"
        case (.abandoned, _): "killed"
        case (_, let code?): String(code)
        case (_, nil): run.state.rawValue
        }
    }
}
