import Foundation
import Reconciliation
import Testing

@testable import Reporting

@Suite struct SummaryTests {
    @Test func whatWasPurgedIsToldOnlyWhereAnythingWas() {
        var run = Sample.run()
        func text() -> String { Summary(run: run, formats: Formats(timeZone: run.timeZone)).text(location: "x") }
        #expect(!text().contains("purged"))
        run.purged = Purged(payloads: 12, devices: 0)
        #expect(text().contains("\npurged              12 payloads, 0 devices of receipts long settled\n"))
        run.purged = Purged(payloads: 1, devices: 1)
        #expect(text().contains("\npurged              1 payload, 1 device of receipts long settled\n"))
    }

    /// Runs that share the inbox each tell of their own.
    @Test func whatOtherRunsTriedIsNotLeft() {
        var run = Sample.run()
        func text() -> String { Summary(run: run, formats: Formats(timeZone: run.timeZone)).text(location: "x") }
        run.outcome = .complete
        run.receipts = ReceiptCounts(due: 1000, verified: 56)
        #expect(text().contains("complete: everything due was tried, 944 receipts of it by runs beside this one\n"))
        #expect(text().contains("0 unusable, 944 tried by others\n"))
        run.receipts = ReceiptCounts(due: 56, verified: 56)
        run.beyondLimit = 944
        #expect(text().contains("complete: as many as --limit allows were tried, and 944 more receipts are due\n"))
        run.beyondLimit = 1
        #expect(text().contains("and 1 more receipt is due\n"))
        run.beyondLimit = 0
        #expect(text().contains("complete: everything due was tried\n") && text().contains("0 unusable, 0 not tried\n"))
        run.runID = nil
        run.receipts = ReceiptCounts(due: 1000, verified: 56)
        #expect(text().contains("complete: everything due was tried\n") && text().contains("944 not tried\n"))
    }

    @Test func redeliveriesAreToldAndWhichKeepFailing() throws {
        var run = Sample.run()
        func text() -> String { Summary(run: run, formats: Formats(timeZone: run.timeZone)).text(location: "x") }
        #expect(!text().contains("redeliveries"))
        let key = Sample.lostOrder().key
        run.redeliveries = RedeliveryFigures(
            ordered: 2, delivered: 40, open: 7, failing: 4,
            failures: [1, 5, 2].map {
                FailingRedelivery(key: key, userID: "anna", tries: $0, isGivenUp: $0 == 5, takenAt: Sample.now)
            })
        #expect(text().contains("\nredeliveries        40 delivered so, 2 ordered, 7 open; 4 keep failing\n"))
        #expect(text().contains("\(key.id) of anna: taken 5 times and not claimed, given up\n"))
        #expect(text().contains("\(key.id) of anna: taken 1 time and not claimed\n"))
        #expect(text().contains("… and 1 more; see report.json\n"))
        run.redeliveries.failures = [
            FailingRedelivery(key: key, userID: "anna", tries: 0, isGivenUp: false, takenAt: nil)
        ]
        #expect(text().contains("\(key.id) of anna: not taken for a day\n"))
    }

    @Test func figuresThatHaveReachedTheirThresholdStandFirst() throws {
        var run = Sample.run()
        func lines() -> [Substring] {
            Summary(run: run, formats: Formats(timeZone: .gmt)).text(location: "x").split(separator: "\n")
        }
        #expect(!lines().contains { $0.hasPrefix("ALERT") })
        var app = App(
            bundleID: try #require(BundleID("com.example.game")), environment: .production, grace: Grace(3600),
            since: nil)
        app.thresholds.unitsMissing = 50
        app.thresholds.shareLost = 0.02
        app.thresholds.redeliveriesFailing = 9
        var figures = AppFigures(bundleID: app.bundleID)
        (figures.unitsMissing, figures.lost, figures.purchases) = (51, 30, 1200)
        run.watched = WatchedFigure.all(of: app, figures, hearing: nil, now: Sample.now)
        #expect(
            lines().prefix(4).suffix(3) == [
                "ALERT               com.example.game: units that Apple sold in thirty days and that were never seen: 51 (told from 50 on)",
                "ALERT               com.example.game: 30 of 1200 purchases of thirty days are likely lost, 2.50 % (told from 2 % on)",
                "outcome             complete: everything due was tried",
            ], "\(lines().prefix(5))")
    }

    @Test func aCustomersCasesAreOneLine() throws {
        var summary = Summary(run: Sample.run(cases: 200), formats: Formats(timeZone: .gmt))
        let cases = (1...200).map { number in
            Sample.lostOrder(id: "\(number)", user: number == 1 ? "ben" : number <= 188 ? "user-7" : "user-\(number)")
        }
        for found in Sample.gathered(cases) { summary.add(found) }
        let lines = summary.text(location: "x").split(separator: "\n").map(String.init)
        #expect(lines.contains { $0.hasPrefix("  high    1  gold.100  ") && $0.hasSuffix("  ben") })
        let sum = Formats.text(Money(milliunits: 187 * 230_000, currency: try #require(CurrencyCode("JPY"))))
        #expect(
            lines.contains {
                $0.hasPrefix("  high    187 purchases of user-7  \(sum)  the oldest 20")
                    && $0.hasSuffix("  com.example.game")
            })
        // Ten lines tell of 1, 187 and 8 more cases.
        #expect(lines.contains("  … and 4 more"))
    }

    @Test func aCaseThatManyMayOwnNamesThreeAndCountsTheOthers() {
        for (count, end) in [(0, "  unknown owner"), (3, "  u1, u2, u3"), (5, "  u1, u2, u3 and 2 more")] {
            var summary = Summary(run: Sample.run(cases: 1), formats: Formats(timeZone: .gmt))
            var found = Sample.lostOrder()
            found.assessment = Assessment(
                likelihood: .medium, reasons: [.ownerAmbiguous],
                owner: count == 0 ? .unknown : .ambiguous((1...count).map { "u\($0)" }), orderIDs: [], action: .contact)
            summary.add(found)
            let lines = summary.text(location: "x").split(separator: "\n")
            #expect(lines.contains { $0.hasPrefix("  medium  ") && $0.hasSuffix(end) }, "\(lines)")
        }
    }

    @Test func whatManyCasesHaveInCommonStandsFirst() throws {
        var run = Sample.run(cases: 4000)
        let bundleID = try #require(BundleID("com.example.game"))
        func text() -> String { Summary(run: run, formats: Formats(timeZone: .gmt)).text(location: "x") }
        #expect(!text().contains("\npattern "))
        run.patterns = (0..<7).map { place in
            Pattern(
                place == 0 ? .outage : .device(.appVersion, "2.\(place)"), of: bundleID, from: Sample.now, until: nil,
                PurchaseCounts(cases: 4000 - place, customers: 3100, delivered: place))
        }
        let lines = text().split(separator: "\n").map(String.init)
        #expect(
            lines[3].hasPrefix(
                "pattern             Nothing of com.example.game that was bought since 2026-09-21 14:13:20 GMT was "
                    + "delivered by its server (cases: 4000, customers: 3100)."))
        #expect(lines[4].hasPrefix("pattern             App version 2.1: purchases of com.example.game are lost there"))
        #expect(lines.filter { $0.hasPrefix("pattern ") }.count == 5)
        #expect(lines[8] == "                    … and 2 more; report.json has them all")
    }

    @Test func whatIsNotLookedAtStandsAtTheHead() throws {
        var run = Sample.run()
        let bundleID = try #require(BundleID("com.example.game"))
        run.unjudged = [
            Unjudged(
                bundleID: bundleID, productType: .autoRenewable, cause: .notConnected, transactions: 223, customers: 5,
                money: [], unpriced: 223),
            Unjudged(
                bundleID: bundleID, productType: .consumable, cause: .ignored, transactions: 4, customers: 2,
                money: [Money(milliunits: 990, currency: try #require(CurrencyCode("USD")))], unpriced: 3),
        ]
        run.unpriced = [
            UnpricedProduct(
                bundleID: bundleID, productID: try #require(ProductID("vip")), type: .autoRenewable, name: nil,
                transactions: 223, first: Sample.now, last: Sample.now)
        ]
        let text = Summary(run: run, formats: Formats(timeZone: .gmt)).text(location: "x")
        #expect(
            text.contains(
                "\nnot connected       com.example.game is not connected for auto-renewable subscriptions: what was "
                    + "paid (purchases: 223, customers: 5, 223 without a price) is not looked at."))
        #expect(text.contains("(purchases: 4, customers: 2, 0.99 USD, 3 without a price) is not looked at, as "))
        #expect(text.contains("set “auto_renewable = entitlement | claim | ignore” in its section."))
        #expect(
            text.contains(
                "\nwithout a price     vip of com.example.game (223): see “iap-reconcile products --suggest”\n"))
    }

    /// Of a source that could not be read, and of what was lost, it tells all the same.
    @Test func itTakesSixtyLinesHoweverMuchIsWrong() throws {
        var run = try Sample.uneven()
        let bundleIDs = try (0..<20).map { try #require(BundleID("com.example.app\($0)")) }
        run.watched = bundleIDs.flatMap { bundleID in
            var app = App(bundleID: bundleID, environment: .production, grace: Grace(3600), since: nil)
            app.thresholds.unitsMissing = 50
            var figures = AppFigures(bundleID: bundleID)
            figures.unitsMissing = 51
            return WatchedFigure.all(of: app, figures, hearing: nil, now: Sample.now)
        }
        run.toMend = bundleIDs.map {
            SettingToMend(cause: .noProducts, bundleID: $0.text, receipts: 1, transactions: 1)
        }
        run.patterns = bundleIDs.map {
            Pattern(
                .outage, of: $0, from: Sample.now, until: nil, PurchaseCounts(cases: 20, customers: 9, delivered: 0))
        }
        run.hearings = bundleIDs.flatMap { _ in run.hearings }
        run.unjudged = bundleIDs.flatMap { _ in run.unjudged }
        let rows = (0..<9).map { RefusedRow(id: "line \($0)", namedID: nil, reason: .badValue, text: "no date") }
        run.sources = (0..<20).map {
            SourcePull(name: "orders \($0)", taken: 1, alreadyThere: 0, refused: $0 < 19 ? 0 : 9)
        }
        run.sources[19].refusedRows = rows
        run.sources[19].refusedLately = 9
        run.sources[19].problem = "the server is gone"
        run.redeliveries.failures += run.redeliveries.failures + run.redeliveries.failures
        run.sales = try Sample.salesFigures()
        run.purged = Purged(payloads: 12, devices: 0)
        var summary = Summary(run: run, formats: Formats(timeZone: .gmt))
        for number in 1...12 { summary.add(Sample.lostOrder(id: "\(number)", user: "user-\(number)")) }
        let lines = summary.text(location: "x").split(separator: "\n", omittingEmptySubsequences: false)
        #expect(lines.count <= 61 && lines.last == "", "\(lines.count)")
        #expect(
            lines.contains {
                $0.hasPrefix("source              orders 19: 1 taken") && $0.hasSuffix("the server is gone")
            })
        #expect(lines.contains { $0.hasSuffix(" more sources; report.json has them all") })
        #expect(lines.count { $0.hasPrefix("  high  ") } == 10)
        #expect(lines.contains { $0.hasPrefix("control totals ") } && lines.dropLast().last == "report              x")
    }
}
