import Foundation
import Reconciliation
import TestSupport
import Testing

@testable import Notifications

@Suite struct MetricsTests {
    @Test func everyFigureOfARunIsThere() throws {
        let found = try PrometheusText(Metrics(news: News.uneven(), earlier: EarlierMetrics()).text)
        let expected: [String: Double] = [
            "info{version=\"0.1.0\"}": 1, "runs_total{exit_code=\"0\"}": 1,
            "last_start_timestamp_seconds": 1_790_000_000, "last_end_timestamp_seconds": 1_790_000_012.5,
            "last_duration_seconds": 12.5, "last_exit_code": 0, "last_success_timestamp_seconds": 1_790_000_012.5,
            "receipts_due": 40, "receipts{outcome=\"verified\"}": 18, "receipts{outcome=\"try_again\"}": 6,
            "receipts{outcome=\"unusable\"}": 5, "receipts{outcome=\"left\"}": 11, "cases{likelihood=\"high\"}": 12,
            "cases{likelihood=\"medium\"}": 8, "cases{likelihood=\"low\"}": 10, "cases_new": 2, "cases_unpriced": 9,
            "cases_money{currency=\"JPY\"}": 230, "cases_money{currency=\"USD\"}": 45.98,
            "oldest_case_timestamp_seconds": 1_789_910_000, "oldest_case_age_seconds": 90_000, "pending": 7,
            "settings_to_mend": 2, "redeliveries{state=\"ordered\"}": 13, "redeliveries{state=\"delivered\"}": 14,
            "redeliveries{state=\"open\"}": 15, "redeliveries{state=\"failing\"}": 16, "notices_new": 17,
            "purchases_only_apple_told": 19, "notices_not_sent{bundle_id=\"com.example.game\"}": 20,
            "notices_not_sent{bundle_id=\"com.example.puzzle\"}": 0,
            "notices_dry_spell{bundle_id=\"com.example.game\"}": 1,
            "notices_dry_spell{bundle_id=\"com.example.puzzle\"}": 0,
            "stage_seconds{stage=\"verify\"}": 1.5, "stage_seconds{stage=\"report\"}": 0.25,
            "stage_items{stage=\"verify\"}": 8, "stage_items{stage=\"report\"}": 3,
        ]
        #expect(
            found.samples == Dictionary(uniqueKeysWithValues: expected.map { ("iap_reconcile_" + $0.key, $0.value) }))
        #expect(found.helps == Set(found.types.keys))
    }

    @Test func whatIsWatchedSaysWhetherItHasReachedItsThreshold() throws {
        let found = try PrometheusText(Metrics(news: News.alarming(), earlier: EarlierMetrics()).text)
        #expect(found.samples["iap_reconcile_alert{bundle_id=\"com.example.game\",alert=\"money_lost\"}"] == 1)
        #expect(found.samples["iap_reconcile_alert{bundle_id=\"com.example.game\",alert=\"oldest_case\"}"] == 0)
    }

    /// A clock that was set back, or `--now`.
    @Test func nothingLastsShorterThanNoTime() throws {
        var news = News.complete()
        news.startedAt = news.finishedAt + 60
        news.findings?.cases.oldestPurchase = News.now + 60
        let samples = try PrometheusText(Metrics(news: news, earlier: EarlierMetrics()).text).samples
        #expect(samples["iap_reconcile_last_duration_seconds"] == 0)
        #expect(samples["iap_reconcile_oldest_case_age_seconds"] == 0)
        #expect(samples["iap_reconcile_oldest_case_timestamp_seconds"] == 1_790_000_060)
    }

    @Test func withoutACaseThereIsNoOldest() throws {
        let found = try PrometheusText(Metrics(news: News.complete(cases: 0), earlier: EarlierMetrics()).text)
        #expect(found.samples["iap_reconcile_oldest_case_timestamp_seconds"] == nil)
        #expect(found.samples["iap_reconcile_oldest_case_age_seconds"] == 0)
        #expect(found.samples["iap_reconcile_cases{likelihood=\"high\"}"] == 0)
    }

    @Test func aFailedRunKeepsTheLastSuccessAndCountsOn() async throws {
        try await Mailbox.with { folder in
            let path = folder.path("iap.prom")
            for news in [News.complete(), News.failed(.unavailable), News.failed(.tryLater), News.failed(.unavailable)]
            {
                #expect(await write(news, to: path) == [NotificationResult(.metrics)])
            }
            let samples = try PrometheusText(try String(contentsOfFile: path, encoding: .utf8)).samples
            #expect(samples["iap_reconcile_last_success_timestamp_seconds"] == 1_790_000_012.5)
            #expect(samples["iap_reconcile_last_exit_code"] == 69)
            #expect(samples["iap_reconcile_runs_total{exit_code=\"0\"}"] == 1)
            #expect(samples["iap_reconcile_runs_total{exit_code=\"69\"}"] == 2)
            #expect(samples["iap_reconcile_runs_total{exit_code=\"75\"}"] == 1)
            #expect(samples["iap_reconcile_cases{likelihood=\"high\"}"] == nil)
        }
    }

    @Test func theFileIsReadableByAllAndNothingIsLeftBesideIt() async throws {
        try await Mailbox.with { folder in
            let path = folder.path("metrics/iap.prom")
            try FileManager.default.createDirectory(atPath: folder.path("metrics"), withIntermediateDirectories: true)
            // What some other program wrote there is no earlier run's.
            try Data("iap_reconcile_runs_total{exit_code=\"x\"} NaN\n\u{FF}".utf8).write(to: URL(filePath: path))
            #expect(await write(News.complete(), to: path) == [NotificationResult(.metrics)])
            _ = try PrometheusText(try String(contentsOfFile: path, encoding: .utf8))
            let mode = try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int
            #expect(mode == 0o644)
            #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path("metrics")) == ["iap.prom"])
        }
    }

    @Test func aFolderThatIsNotThereIsNamed() async throws {
        let told = await write(News.complete(), to: "/nonexistent/iap.prom")
        #expect(told.first?.failure == "/nonexistent/iap.prom can't be written: No such file or directory")
    }

    @Test func whateverAVersionIsCalledTheFileStaysValid() throws {
        var news = News.complete()
        news.programVersion = "1\"2\\3\n4"
        let found = try PrometheusText(Metrics(news: news, earlier: EarlierMetrics()).text)
        #expect(found.samples[#"iap_reconcile_info{version="1\"2\\3\n4"}"#] == 1)
    }

    private func write(_ news: RunNews, to path: String) async -> [NotificationResult] {
        await Notifier(
            NotificationSettings(metrics: MetricsSettings(file: path)), programVersion: "1", dependencies: .hurried()
        )
        .end(news)
    }
}
