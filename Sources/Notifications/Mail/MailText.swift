import Foundation
import Reconciliation
import Reporting

/// What a mail says of a run, in its subject and in its text.
struct MailText {
    private static let shownCurrencies = 4
    let news: RunNews
    let prefix: String

    /// Says which figures have reached their threshold, that the run was in trouble, how many orders are likely lost
    /// and how much money.
    var subject: String {
        let trouble: String? =
            switch news.state {
            case .complete: nil
            case .test: "a test, no run took place"
            case .endedEarly: "the run ended early (exit code \(news.exitCode.rawValue))"
            case .failed: "the run failed (exit code \(news.exitCode.rawValue))"
            }
        return "\(prefix): " + [alerts, trouble, found].compactMap(\.self).joined(separator: ", ")
    }

    private static let shownAlerts = 3

    private var alerts: String? {
        guard let alerts = news.findings?.alerts, !alerts.isEmpty else { return nil }
        let shown = alerts.prefix(Self.shownAlerts).map {
            // As people read it: “money lost in com.example.game”.
            $0.name.replacing("_", with: " ") + " in \($0.bundleID)"
        }
        let rest = alerts.count - shown.count
        return "ALERT: " + (shown + (rest > 0 ? ["\(rest) more"] : [])).joined(separator: ", ")
    }

    private var found: String? {
        guard let cases = news.findings?.cases else { return nil }
        if cases.total == 0 { return "no likely lost orders" }
        let count = "\(cases.total.counted("likely lost order")) (\(cases.new) new)"
        let shown = cases.money.prefix(Self.shownCurrencies).map(MoneyText.text)
        let rest = cases.money.count - shown.count
        let more = rest > 0 ? [rest.counted("more currency", "more currencies")] : []
        return ([count] + shown + more + MoneyText.unpriced(cases.unpriced)).joined(separator: ", ")
    }

    /// The report's summary, or else what is known of the failure.
    ///
    /// - Parameter notes: what else must be said, a line for each.
    func body(notes: [String]) -> String {
        var text = news.report?.summary ?? failure
        if let url = news.report?.url { text += Self.row("page", url) }
        if !notes.isEmpty { text += "\n" + notes.map { "\($0)\n" }.joined() }
        return text
    }

    private var failure: String {
        "\(subject)\n\n" + Self.row("exit code", "\(news.exitCode.rawValue)")
            + Self.row("reason", news.reason ?? "not known")
            + Self.row("host", news.host) + Self.row("started at", news.startedAt.formatted(.iso8601))
            + Self.row("ended at", news.finishedAt.formatted(.iso8601))
    }

    /// A row with the columns of `summary.txt`.
    private static func row(_ name: String, _ value: String) -> String {
        name.padding(toLength: 18, withPad: " ", startingAt: 0) + "  \(value)\n"
    }
}
