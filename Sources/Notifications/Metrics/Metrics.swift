import Foundation
import Reconciliation

/// What Prometheus learns of the latest run. Figures that a failed run did not find out are left out.
struct Metrics {
    let news: RunNews
    let earlier: EarlierMetrics

    var text: String { (run + (news.findings.map(found) ?? [])).map(\.text).joined() }

    private var run: [MetricFamily] {
        var counts = earlier.runs
        counts["\(news.exitCode.rawValue)", default: 0] += 1
        let success = news.exitCode == .done ? Self.seconds(news.finishedAt) : earlier.lastSuccess
        return [
            MetricFamily("info", "The program's version.", by: "version", [(news.programVersion, "1")]),
            MetricFamily(
                EarlierMetrics.runs, kind: .counter, "Runs since this file is there, by their exit code.",
                by: "exit_code", counts.sorted { $0.key < $1.key }.map { ($0.key, "\($0.value)") }),
            MetricFamily("last_start_timestamp_seconds", "When the latest run began.", Self.seconds(news.startedAt)),
            MetricFamily("last_end_timestamp_seconds", "When the latest run ended.", Self.seconds(news.finishedAt)),
            MetricFamily(
                "last_duration_seconds", "How long the latest run took.",
                Self.decimal(max(0, news.finishedAt.timeIntervalSince(news.startedAt)))),
            MetricFamily("last_exit_code", "How the latest run ended; 0 is well.", "\(news.exitCode.rawValue)"),
            MetricFamily(EarlierMetrics.lastSuccess, "When a run last ended with 0.", success),
        ]
    }

    private func found(_ found: RunReport) -> [MetricFamily] {
        receipts(found) + cases(found) + redeliveries(found) + hearings(found) + [
            MetricFamily(
                "alert", "1 where a figure that is watched has reached its threshold.",
                samples: found.watched.map { figure in
                    MetricFamily.Sample(
                        labels: ["bundle_id": figure.bundleID.text, "alert": figure.name],
                        value: figure.isAlert ? "1" : "0")
                }),
            MetricFamily(
                "stage_seconds", "How long each stage of the latest run was under way.", by: "stage",
                found.stages.map { ($0.name, Self.decimal($0.seconds)) }),
            MetricFamily(
                "stage_items", "How much each stage of the latest run handled.", by: "stage",
                found.stages.map { ($0.name, "\($0.items)") }),
        ]
    }

    private func receipts(_ found: RunReport) -> [MetricFamily] {
        let receipts = found.receipts
        return [
            MetricFamily("receipts_due", "Receipts that were due when the latest run began.", "\(receipts.due)"),
            MetricFamily(
                "receipts", "What became of the receipts of the latest run.", by: "outcome",
                [
                    ("verified", "\(receipts.verified)"), ("try_again", "\(receipts.tryAgain)"),
                    ("unusable", "\(receipts.unusable)"), ("left", "\(receipts.left)"),
                ]),
        ]
    }

    private func redeliveries(_ found: RunReport) -> [MetricFamily] {
        let figures = found.redeliveries
        return [
            MetricFamily(
                "redeliveries", "Deliveries without the customer.", by: "state",
                [
                    ("ordered", "\(figures.ordered)"), ("delivered", "\(figures.delivered)"),
                    ("open", "\(figures.open)"), ("failing", "\(figures.failing)"),
                ])
        ]
    }

    private func hearings(_ found: RunReport) -> [MetricFamily] {
        [
            MetricFamily("notices_new", "Notifications of Apple's that were new.", found.heard.map { "\($0.fresh)" }),
            MetricFamily(
                "purchases_only_apple_told", "Purchases that nobody knew before Apple told of them.",
                found.heard.map { "\($0.unknown)" }),
            MetricFamily(
                "notices_not_sent", "Notifications of three days that Apple could not send.", by: "bundle_id",
                found.hearings.map { ($0.bundleID.text, "\($0.unsent)") }),
            MetricFamily(
                "notices_dry_spell", "1 where purchases are delivered and Apple tells of none.", by: "bundle_id",
                found.hearings.map { ($0.bundleID.text, $0.isDrySpell(at: found.now) ? "1" : "0") }),
        ]
    }

    private func cases(_ found: RunReport) -> [MetricFamily] {
        let cases = found.cases
        let age = cases.oldestPurchase.map { found.now.timeIntervalSince($0) }
        return [
            MetricFamily(
                "cases", "Likely lost orders that are open.", by: "likelihood",
                Likelihood.allCases.map { ($0.rawValue, "\(cases.byLikelihood[$0] ?? 0)") }),
            MetricFamily("cases_new", "Likely lost orders that the latest run found first.", "\(cases.new)"),
            MetricFamily("cases_unpriced", "Open cases whose price is not known.", "\(cases.unpriced)"),
            MetricFamily(
                "cases_money", "What was paid for the open cases, in units of the currency.", by: "currency",
                cases.money.map { ($0.currency.text, Self.units($0)) }),
            MetricFamily(
                "oldest_case_timestamp_seconds", "When the oldest open case was paid.",
                cases.oldestPurchase.map(Self.seconds)),
            MetricFamily(
                "oldest_case_age_seconds", "How old the oldest open case was at the latest run; 0 if none is open.",
                Self.decimal(max(0, age ?? 0))),
            MetricFamily(
                "settings_to_mend", "Settings because of which purchases are not looked at, until they are mended.",
                "\(found.toMend.count)"),
            MetricFamily("pending", "Paid transactions within their grace, which are no cases.", "\(found.pending)"),
        ]
    }

    private static func seconds(_ moment: Date) -> String { decimal(moment.timeIntervalSince1970) }

    private static func decimal(_ value: Double) -> String { String(format: "%.3f", value) }

    /// Written exactly: money is never rounded here.
    private static func units(_ money: Money) -> String {
        let magnitude = money.milliunits.magnitude
        let thousandths = String(magnitude % 1000 + 1000).dropFirst()
        return "\(money.milliunits < 0 ? "-" : "")\(magnitude / 1000).\(thousandths)"
    }
}
