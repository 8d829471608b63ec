import Foundation
import Reconciliation

@testable import Notifications

/// Made-up news of a run.
enum News {
    static let now = Date(timeIntervalSince1970: 1_790_000_000)

    static func complete(cases: Int = 3, report: WrittenReport? = nil) -> RunNews {
        RunNews(
            runID: 42, exitCode: .done, reason: nil, startedAt: now, finishedAt: now.addingTimeInterval(12.5),
            host: "night-1", programVersion: "0.1.0", findings: findings(cases), report: report)
    }

    /// One of whose figures has reached its threshold, and another has not.
    static func alarming(cases: Int = 3) -> RunNews {
        var news = complete(cases: cases)
        var app = App(
            bundleID: BundleID("com.example.game")!, environment: .production, grace: Grace(3600), since: nil)
        let dollars = CurrencyCode("USD")!
        app.thresholds.moneyLost = Money(milliunits: 20_000, currency: dollars)
        app.thresholds.oldestCase = 86_400 * 14
        var figures = AppFigures(bundleID: app.bundleID)
        figures.money = [Money(milliunits: 45_980, currency: dollars)]
        figures.oldestCase = now - 90_000
        news.findings?.watched = WatchedFigure.all(of: app, figures, hearing: nil, now: now)
        return news
    }

    /// One no two of whose figures are alike, so that none can stand in another's place.
    static func uneven(report: WrittenReport? = nil) -> RunNews {
        var news = complete(report: report)
        let bundleID = BundleID("com.example.game")!
        news.findings?.receipts = ReceiptCounts(due: 40, verified: 18, tryAgain: 6, unusable: 5)
        news.findings?.cases.reopened = 1
        news.findings?.cases.unpriced = 9
        news.findings?.cases.byLikelihood = [.high: 12, .medium: 8, .low: 10]
        news.findings?.redeliveries = RedeliveryFigures(ordered: 13, delivered: 14, open: 15, failing: 16)
        news.findings?.heard = NoticeTotals(fresh: 17, unknown: 19)
        news.findings?.hearings = [
            HearingFigures(
                bundleID: bundleID, heardThrough: nil, lastSignedAt: now - 100_000, problem: nil, notTaken: [],
                unsent: 20, whyUnsent: nil, deliveredSince: 21),
            HearingFigures(
                bundleID: BundleID("com.example.puzzle")!, heardThrough: nil, lastSignedAt: now, problem: nil,
                notTaken: [], unsent: 0, whyUnsent: nil, deliveredSince: 21),
        ]
        let setting = SettingToMend(cause: .noSection, bundleID: "com.example.b", receipts: 22, transactions: 0)
        news.findings?.toMend = [setting, setting]
        news.findings?.trail = AuditTrail(entries: 23, end: "3044f3e1522a")
        return news
    }

    /// Failed before anything was found.
    static func failed(
        _ exitCode: ExitCode = .unavailable, because reason: String = "The database can't be reached."
    ) -> RunNews {
        RunNews(
            runID: nil, exitCode: exitCode, reason: reason, startedAt: now, finishedAt: now, host: "night-1",
            programVersion: "0.1.0", findings: nil, report: nil)
    }

    static func findings(_ cases: Int) -> RunReport {
        var head = RunReport(
            runID: 42, startedAt: now, finishedAt: now, now: now, timeZone: TimeZone(identifier: "Asia/Shanghai")!,
            outcome: .complete, receipts: ReceiptCounts(due: 9, verified: 6, tryAgain: 1, unusable: 1),
            totals: ControlTotals())
        head.cases = CaseCounts(
            byLikelihood: cases > 0 ? [.high: cases - 1, .low: 1] : [:], new: min(cases, 2), closed: [.delivered: 4],
            money: cases > 0
                ? [
                    Money(milliunits: 230_000, currency: CurrencyCode("JPY")!),
                    Money(milliunits: 45_980, currency: CurrencyCode("USD")!),
                ] : [],
            oldestPurchase: cases > 0 ? now.addingTimeInterval(-90_000) : nil)
        head.pending = 7
        head.stages = [
            StageTime(name: "verify", seconds: 1.5, items: 8), StageTime(name: "report", seconds: 0.25, items: 3),
        ]
        return head
    }
}

extension NotifierDependencies {
    /// Waits for nothing, and notes how long it should have.
    static func hurried(_ pauses: Pauses = Pauses()) -> NotifierDependencies {
        NotifierDependencies(now: { News.now }, pause: { pauses.add($0) }, newID: { "0f4c0a7e-made-up" })
    }
}

extension WebhookSettings {
    static let secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"

    static func testing(_ url: String, attempts: Int = 5, timeout: TimeInterval = 10) -> WebhookSettings {
        WebhookSettings(url: url, key: SigningKey(secret)!, timeout: timeout, attempts: attempts)
    }
}
