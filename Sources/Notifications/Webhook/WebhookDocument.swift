import Foundation
import Reconciliation
import Reporting

/// The JSON of a webhook, with the words of `report.json` and `figures.json`: figures only, and never who bought what.
struct WebhookDocument: Encodable {
    struct Run: Encodable {
        let runID: Int64?
        let outcome: String
        let exitCode: Int32
        let reason: String?
        let startedAt, finishedAt: Date
        let now: Date?
        let timeZone: String?
        let host, programVersion: String
        let receipts: [String: Int]?
        /// The last link of the trail's chain, in hexadecimal.
        let trailEnd: String?
    }

    struct Figures: Encodable {
        let cases, new, reopened, pending, unpriced: Int
        let byLikelihood: [String: Int]
        /// Closed cases that no run had reported before, by how they ended.
        let closed: [String: Int]
        /// Milliunits by currency.
        let money: [String: Int64]
        let oldestPurchase: Date?
        let redeliveries: Redeliveries
    }

    /// The redeliveries.
    struct Redeliveries: Encodable {
        let ordered, delivered, open, failing: Int
    }

    /// A figure that has reached its threshold.
    struct Alert: Encodable {
        let alert, bundleID, text: String
    }

    struct Report: Encodable {
        let folder: String
        let url: String?
    }

    let schemaVersion = 1
    /// Empty if no figure has, or if the run failed before it knew.
    let alerts: [Alert]
    let run: Run
    /// `nil` if the run failed before it had any.
    let figures: Figures?
    let report: Report?

    private enum CodingKeys: CodingKey {
        case schemaVersion, alerts, run, figures, report
    }

    init(_ news: RunNews) {
        alerts = (news.findings?.alerts ?? []).map {
            Alert(alert: $0.name, bundleID: $0.bundleID.text, text: $0.alertText)
        }
        run = Run(news)
        figures = news.findings.map(Figures.init)
        report = news.report.map { Report(folder: $0.folder, url: $0.url) }
    }

    func json() throws -> Data { try JSONEncoder.snakeCase().encode(self) }
}

extension WebhookDocument.Run {
    init(_ news: RunNews) {
        self.init(
            runID: news.runID, outcome: news.state.rawValue, exitCode: news.exitCode.rawValue, reason: news.reason,
            startedAt: news.startedAt, finishedAt: news.finishedAt, now: news.findings?.now,
            timeZone: news.findings?.timeZone.identifier, host: news.host, programVersion: news.programVersion,
            receipts: news.findings?.receipts.named, trailEnd: news.findings?.trail?.end)
    }
}

extension WebhookDocument.Figures {
    init(_ found: RunReport) {
        let cases = found.cases
        self.init(
            cases: cases.total, new: cases.new, reopened: cases.reopened, pending: found.pending,
            unpriced: cases.unpriced, byLikelihood: cases.namedByLikelihood,
            closed: Dictionary(uniqueKeysWithValues: cases.closed.map { ($0.key.rawValue, $0.value) }),
            money: MoneyText.byCurrency(cases.money),
            oldestPurchase: cases.oldestPurchase,
            redeliveries: WebhookDocument.Redeliveries(
                ordered: found.redeliveries.ordered, delivered: found.redeliveries.delivered,
                open: found.redeliveries.open, failing: found.redeliveries.failing))
    }
}
