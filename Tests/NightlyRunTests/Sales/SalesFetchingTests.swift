import AppStoreSimulator
import Commands
import Foundation
import Job
import NightlyRun
import PostgreSQL
import Reconciliation
import Synchronization
import TestSupport
import Testing
import Verification

/// The night fetches Apple's sales reports by itself.
@Suite struct SalesFetchingTests {
    /// What Apple hands out, by day; it can be changed between nights.
    private final class Shelf: Sendable {
        private let reports = Mutex<[String: [UInt8]]>([:])

        subscript(day: String) -> [UInt8]? {
            get { reports.withLock { $0[day] } }
            set { reports.withLock { $0[day] = newValue } }
        }

        /// The report of a day on which so many units of a product were sold.
        func lay(_ units: Int, _ product: String = "gems.60", on day: String, as dayOfReport: String? = nil) throws {
            let parts = (dayOfReport ?? day).split(separator: "-")
            let date = "\(parts[1])/\(parts[2])/\(parts[0])"
            let report = SalesText([
                "SKU": product, "Units": "\(units)", "Begin Date": date, "End Date": date, "Parent Identifier": "GAME",
            ])
            self[day] = try Gzip.compressed(report.bytes)
        }
    }

    /// A play whose job has a key to Apple's sales reports.
    private func withShelf(_ body: (Play, Shelf) async throws -> Void) async throws {
        try await withPlay { play in
            var play = play
            let shelf = Shelf()
            play.store.handOut { shelf[$0] }
            play.settings.apple.appStoreConnect = play.appStoreConnect
            play.settings.apple.attempts = 1
            play.settings.apps[0].sku = "GAME"
            play.settings.sales = SalesAccess(
                vendorNumber: SalesReport.vendorNumber, issuerID: APIKey.issuerID, keyID: APIKey.keyID,
                key: Secret(play.store.apiKey.privateKeyPEM))
            try await body(play, shelf)
        }
    }

    /// Days before the play's present, in Apple's time.
    private func day(_ play: Play, daysAgo: Double) -> String {
        SalesReport.pacificDay(of: play.began - daysAgo * 86_400)
    }

    private func pull(_ report: RunReport) throws -> SourcePull {
        try #require(report.sources.first { $0.name == "sales" })
    }

    @Test func fetchesWhatIsMissingOnce() async throws {
        try await withShelf { play, shelf in
            // Apple's day may begin between the play and its first night: the thirtieth day is over for the second one.
            for daysAgo in [2.0, 5, 28] { try shelf.lay(4, on: day(play, daysAgo: daysAgo)) }
            try shelf.lay(4, on: day(play, daysAgo: 40))
            let first = try await play.night().report
            #expect(first.outcome == .complete)
            #expect(first.sales?.unitsSold == 12 && first.sales?.missing == 12 && first.sales?.days == 3)
            #expect(try pull(first).taken == 3 && pull(first).problem == nil)
            #expect(play.store.counts.salesReports == 30)
            let second = try await play.night(2).report
            #expect(play.store.counts.salesReports == 30 + 27, "three are there")
            #expect(second.sales?.unitsSold == 12)
            try shelf.lay(7, on: day(play, daysAgo: 3))
            #expect(try await play.night(3).report.sales?.unitsSold ?? 0 >= 15, "what was late comes later")
            #expect(try await play.count("iap.events WHERE kind = 'sales_read'") == 4)
        }
    }

    /// Whoever may connect sees the space of a night's locks in pg_locks while it lasts.
    @Test func whoKeepsTheLockOfSalesReportsHoldsUpTheseAndNotTheNight() async throws {
        try await withShelf { play, shelf in
            var play = play
            play.settings.patience = 0.3
            try shelf.lay(4, on: day(play, daysAgo: 2))
            try shelf.lay(5, on: day(play, daysAgo: 3))
            let other = try await play.database.connect()
            let space = try #require(
                try await other.query("SELECT space FROM iap.lock_space").first?.decode("space", as: Int32.self))
            let stranger = try await play.database.connect(as: "iap_finance")
            _ = try await stranger.query("SELECT pg_advisory_lock(\(space), 1001)")
            let report = try await play.night().report
            let problem = try #require(try pull(report).problem)
            #expect(problem.contains("another session's lock stays in the way"))
            #expect(problem.contains("iap_finance since"))
            #expect(try await play.count("iap.sales_reports") == 0)
            stranger.close()
            other.close()
            let second = try await play.night(2).report
            #expect(try pull(second).taken == 2 && pull(second).problem == nil)
        }
    }

    /// A day with lines of an app that the configuration names only later.
    @Test func whatWasOfAnUnknownAppComesOnceTheAppIsKnown() async throws {
        try await withShelf { play, shelf in
            var play = play
            play.settings.apps[0].sku = nil
            try shelf.lay(4, "unlisted", on: day(play, daysAgo: 2))
            #expect(try await play.night().report.sales?.unitsSold == 0)
            let before = play.store.counts.salesReports
            _ = try await play.night(2)
            #expect(play.store.counts.salesReports == before + 29, "nothing is known better")
            play.settings.apps[0].sku = "GAME"
            let third = try await play.night(3).report
            #expect(third.sales?.unitsSold == 4)
            #expect(try pull(third).taken == 1 && pull(third).problem == nil)
            let known = play.store.counts.salesReports
            _ = try await play.night(4)
            #expect(play.store.counts.salesReports == known + 29, "and is fetched no more")
        }
    }

    /// What another day's report tells of whose they are.
    @Test func whatIsNotListedComesOnceItsAppIsKnown() async throws {
        try await withShelf { play, shelf in
            var play = play
            play.settings.apps[0].sku = nil
            try await play.administer(
                """
                INSERT INTO iap.products (bundle_id, product_id, type, name)
                VALUES ('com.example.game', 'gems.60', 'consumable', '60 gems')
                """)
            try shelf.lay(4, "unlisted", on: day(play, daysAgo: 2))
            #expect(try await play.night().report.sales?.unitsSold == 0)
            try shelf.lay(1, on: day(play, daysAgo: 3))
            let second = try await play.night(2).report
            #expect(second.sales?.unitsSold == 1)
            let third = try await play.night(3).report
            #expect(third.sales?.unitsSold == 5)
            let known = play.store.counts.salesReports
            _ = try await play.night(4)
            #expect(play.store.counts.salesReports == known + 28, "and is fetched no more")
        }
    }

    @Test func aDryRunFetchesNothing() async throws {
        try await withShelf { play, shelf in
            try shelf.lay(4, on: day(play, daysAgo: 2))
            var findings = Collector()
            let job = NightlyJob(settings: play.settings, programVersion: "test", log: { _ in }, progress: { _ in })
            _ = try await job.run(
                RunOptions(isDryRun: true, now: play.began + 3600), stop: StopSignal(), findings: &findings)
            #expect(play.store.counts.salesReports == 0)
            #expect(try await play.count("iap.sales_fetches") == 0)
        }
    }

    /// The night does the rest of its work, ends early, and says what to mend.
    @Test func aKeyThatAppleRefusesIsToldOnce() async throws {
        try await withShelf { play, shelf in
            var play = play
            try shelf.lay(4, on: day(play, daysAgo: 2))
            try await play.upload(play.receipt([play.buy("2000000000000001")]))
            for (change, word) in [
                ({ $0.issuerID = "another" }, "issuer_id"), ({ $0.vendorNumber = "1" }, "vendor_number"),
            ] as [((inout SalesAccess) -> Void, String)] {
                let right = try #require(play.settings.sales)
                var wrong = right
                change(&wrong)
                play.settings.sales = wrong
                let before = play.store.counts.salesReports
                let report = try await play.night().report
                guard case .endedEarly(let why) = report.outcome else {
                    Issue.record("\(report.outcome)")
                    return
                }
                #expect(why.contains(word) && why.contains("[sales]"), "\(why)")
                #expect(play.store.counts.salesReports == before + 1)
                #expect(report.cases.total == 1)
                play.settings.sales = right
            }
            #expect(try await play.night(2).report.sales?.unitsSold == 4)
        }
    }

    /// What can't be read, or answers another question, changes nothing and is asked for again.
    @Test(arguments: ["another day", "no report", "cut short", "not compressed", "a bomb of one line"])
    func whatCannotBeReadIsAskedForAgain(flaw: String) async throws {
        try await withShelf { play, shelf in
            let day = day(play, daysAgo: 2)
            try shelf.lay(4, on: day, as: flaw == "another day" ? self.day(play, daysAgo: 9) : nil)
            let good = try #require(shelf[day])
            switch flaw {
            case "no report": shelf[day] = try Gzip.compressed(Array("Sorry, try again\n".utf8))
            case "cut short": shelf[day] = Array(good.prefix(good.count / 2))
            case "not compressed": shelf[day] = Array("<html>".utf8)
            case "a bomb of one line": shelf[day] = try Gzip.compressed([UInt8](repeating: 32, count: 64 << 20))
            default: break
            }
            let report = try await play.night().report
            #expect(report.sales == nil)
            #expect(try pull(report).problem != nil)
            #expect(try await play.count("iap.sales_reports") == 0)
            try shelf.lay(4, on: day)
            let second = try await play.night(2).report
            #expect(second.sales?.unitsSold == 4)
            #expect(try pull(second).problem == nil)
        }
    }

    /// A day that is broken for good, and those after it; and an Apple that hands out nothing at all.
    @Test func oneBrokenDayHoldsUpNoOther() async throws {
        try await withShelf { play, shelf in
            shelf[day(play, daysAgo: 20)] = Array("<html>".utf8)
            shelf[day(play, daysAgo: 10)] = Array("<html>".utf8)
            try shelf.lay(4, on: day(play, daysAgo: 2))
            let report = try await play.night().report
            #expect(report.sales?.unitsSold == 4)
            #expect(try pull(report).problem != nil)
            for daysAgo in 3...29 { shelf[day(play, daysAgo: Double(daysAgo))] = Array("<html>".utf8) }
            let before = play.store.counts.salesReports
            _ = try await play.night(2)
            #expect(play.store.counts.salesReports <= before + 6)
        }
    }

    /// A report of the same day that a person read, with a correction.
    @Test func whatAPersonReadBeforeStaysWhereAppleSaysTheSame() async throws {
        try await withShelf { play, shelf in
            let day = day(play, daysAgo: 2)
            try shelf.lay(4, on: day)
            try await withTemporaryFolder { folder in
                let file = folder.appending(path: "report.txt.gz")
                try Data(try #require(shelf[day])).write(to: file)
                _ = try await SalesJob(settings: play.settings).run(
                    [file.path(percentEncoded: false)], stop: StopSignal()
                ) { _, _ in }
            }
            #expect(try await play.night().report.sales?.unitsSold == 4)
            #expect(try await play.count("iap.sales_reports") == 1)
            #expect(try await play.count("iap.sales_fetches WHERE fetched_at IS NOT NULL") == 1)
        }
    }

    @Test func doctorAsksForAReport() async throws {
        try await withShelf { play, shelf in
            var play = play
            func verdict() async -> Doctor.Finding? {
                await Doctor(settings: play.settings).examine().first { $0.name.hasPrefix("sales reports") }
            }
            #expect(await verdict()?.verdict == .fine)
            play.settings.sales?.keyID = "ANOTHER"
            let refused = await verdict()
            #expect(refused?.verdict == .wrong && refused?.remedy?.contains("[sales]") == true)
            play.settings.apple.appStoreConnect = "http://127.0.0.1:1"
            #expect(await verdict()?.verdict == .warning)
        }
    }
}
