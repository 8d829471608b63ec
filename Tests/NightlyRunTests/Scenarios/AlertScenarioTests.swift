import Job
import AppStoreSimulator
import Foundation
import NightlyRun
import PostgreSQL
import Reconciliation
import TestSupport
import Testing
import Verification

/// What is watched, counted by a night.
@Suite struct AlertScenarioTests {
    private func value(_ report: RunReport, _ name: String) throws -> WatchedFigure {
        try #require(report.watched.first { $0.name == name })
    }

    @Test func aNightCountsWhatIsWatchedAndTheReportAgainSaysTheSame() async throws {
        try await withPlay(hasKey: true) { play in
            var play = play
            let dollars = try #require(CurrencyCode("USD"))
            play.settings.apps[0].app.thresholds.shareLost = 0.4
            play.settings.apps[0].app.thresholds.moneyLost = Money(milliunits: 2_970, currency: dollars)
            play.settings.apps[0].app.thresholds.oldestCase = 40 * 86_400
            play.settings.apps[0].app.thresholds.unitsMissing = 1
            play.settings.apps[0].app.thresholds.redeliveriesFailing = 1
            // Two of the last thirty days are lost, one is delivered, and one is older.
            let bought = (1...3).map { play.buy("200000000000000\($0)") }
            let old = play.buy("2000000000000009", hoursAgo: 45 * 24)
            try await play.upload(play.receipt(bought + [old]))
            #expect(try await play.claim(bought[2]) == "not_verified")
            _ = try await play.night()
            #expect(try await play.claim(bought[2]) == "delivered")
            let report = try await play.night(2).report
            #expect(try value(report, "share_lost").value == .shareLost(lost: 2, purchases: 3, threshold: 0.4))
            #expect(
                try value(report, "money_lost").value
                    == .moneyLost(
                        Money(milliunits: 2_970, currency: dollars),
                        threshold: Money(milliunits: 2_970, currency: dollars)))
            #expect(report.alerts.map(\.name) == ["share_lost", "money_lost", "oldest_case"])
            var findings = Collector()
            let again = try await NightlyJob(
                settings: play.settings, programVersion: "test", log: { _ in }, progress: { _ in }
            ).report(run: nil, findings: &findings)
            #expect(again.watched == report.watched)
        }
    }

    /// What is owed to nobody is no purchase of the app's.
    @Test func whatIsExcludedIsNotCounted() async throws {
        try await withPlay { play in
            var play = play
            play.settings.apps[0].app.thresholds.shareLost = 1
            let mine = play.buy("2000000000000001")
            let shared = play.buy("2000000000000002") { $0.isFamilyShared = true }
            try await play.upload(play.receipt([mine, shared]))
            let report = try await play.night().report
            #expect(try value(report, "share_lost").value == .shareLost(lost: 1, purchases: 1, threshold: 1))
        }
    }
}
