import Foundation
import Reconciliation
import Testing

@testable import Reporting

/// The charts of a page, by what stands in them.
@Suite struct ChartTests {
    private let readers = Readers(.english, timeZone: .gmt)

    private func night(_ day: Int, cases: Int, new: Int, closed: Int, _ money: [String: Int64] = [:]) -> RunFigures {
        RunFigures(
            runID: Int64(day), now: Sample.now + Double(day) * 86_400, cases: cases, new: new, closed: closed,
            money: money.compactMap { name, sum in CurrencyCode(name).map { Money(milliunits: sum, currency: $0) } })
    }

    @Test func oneNightHasNoTrend() {
        #expect(TrendCharts([night(1, cases: 3, new: 1, closed: 2)], readers).html.text.isEmpty)
    }

    @Test func newStandAboveTheLineAndClosedBelow() throws {
        let html = TrendCharts([night(1, cases: 3, new: 4, closed: 2), night(2, cases: 5, new: 2, closed: 0)], readers)
            .html.text
        // Of a box of 160, with the line in its middle and 4 as the most.
        #expect(html.contains(#"<rect class="fill-new" x="60.00" y="0.00" width="180.00" height="80.00"/>"#))
        #expect(html.contains(#"<rect class="fill-closed" x="60.00" y="80.00" width="180.00" height="40.00"/>"#))
        #expect(html.contains(#"<rect class="fill-closed" x="360.00" y="80.00" width="180.00" height="0.00"/>"#))
        #expect(html.contains("In the runs shown 6 cases were opened for the first time and 2 closed."))
    }

    /// A night at three in China is the evening before in Greenwich.
    @Test func aBarIsOfItsReportsDay() throws {
        let shanghai = try #require(TimeZone(identifier: "Asia/Shanghai"))
        let nights = ["2026-11-26T19:00:00Z", "2026-11-27T19:00:00Z"].enumerated().map { index, moment in
            RunFigures(
                runID: Int64(index), now: try! Date(moment, strategy: .iso8601), cases: 3 + index, new: 4 - index,
                closed: 2, money: [])
        }
        let html = TrendCharts(nights, Readers(.english, timeZone: shanghai)).html.text
        #expect(html.contains("2026-11-27: 3 (+4)") && html.contains("2026-11-27: +4 −2"))
        #expect(!html.contains("2026-11-26"))
    }

    @Test func eachCurrencyHasALineOfItsOwnUpToThree() {
        let nights = (1...100).map { day in
            night(
                day, cases: 1, new: 0, closed: 0,
                ["USD": Int64(day) * 1000, "CNY": 5000, "JPY": 7000, "TRY": day > 99 ? 9000 : 0])
        }
        let html = TrendCharts(nights, readers).html.text
        #expect(html.components(separatedBy: #"class="trend money""#).count == 4)
        #expect(html.contains("<b>US$100.00</b>") || html.contains("$100.00"))
        // Of a hundred nights the last ninety are shown.
        #expect(html.components(separatedBy: #"class="fill-closed""#).count == 91)
        #expect(html.contains("Not drawn: TRY"))
        #expect(!TrendCharts(nights.dropLast(), readers).html.text.contains("Not drawn"))
    }

    @Test func theProgramsWithTheMostCasesStandFirstWithTheirShare() throws {
        var tally = ClientTally()
        for (count, version) in [(3, "3.4.0"), (9, "3.4.1 <b>")] {
            for _ in 0..<count {
                var found = Sample.lostOrder(id: "1000000000000001")
                found.device = #"{"app_version": "\#(version)", "os": "iOS 18.1"}"#
                tally.add(found)
            }
        }
        let app = try #require(BundleID("com.example.game"))
        let figures = [
            ClientFigures(
                bundleID: app, trait: .appVersion, value: "3.4.0", counts: PurchaseCounts(cases: 3, delivered: 57))
        ]
        let html = ClientCharts(tally: tally, figures: figures, readers: readers).html.text
        let first = try #require(html.range(of: "3.4.1 &lt;b&gt;")), second = try #require(html.range(of: "3.4.0"))
        #expect(first.lowerBound < second.lowerBound && html.contains("5.0 % lost"))
        #expect(html.contains("iOS 18.1") && !html.contains("By device"))
        // One app has cases: it need not be named.
        #expect(!html.contains("com.example.game"))
    }

    @Test("What would be one other is named", arguments: [(7, nil), (8, "2 others")] as [(Int, String?)])
    func oneOtherIsNamed(models: Int, others: String?) {
        var tally = ClientTally()
        for number in 0..<models {
            var found = Sample.lostOrder(id: "1000000000000001")
            found.device = #"{"model": "m\#(number)"}"#
            tally.add(found)
        }
        let html = ClientCharts(tally: tally, figures: [], readers: readers).html.text
        #expect(html.contains("others") == (others != nil))
        #expect(html.contains("m6") == (others == nil) && html.contains(others ?? "m6"))
        // Two of one each are more than the longest bar shows, whose like has no gap.
        #expect(html.components(separatedBy: "<path").count == (others == nil ? 1 : 2))
    }

    /// Whoever makes a device up for each upload makes neither memory nor the page grow.
    @Test func madeUpDevicesAreCountedTogether() {
        var tally = ClientTally()
        for number in 0..<6000 {
            var found = Sample.lostOrder(id: "1000000000000001")
            found.device = #"{"model": "m\#(number)"}"#
            tally.add(found)
        }
        #expect(tally.cases[.model]?.count == 5000 && tally.others[.model] == 1000)
        let html = ClientCharts(tally: tally, figures: [], readers: readers).html.text
        #expect(html.contains("5,994") && html.components(separatedBy: "<tr>").count < 12)
    }
}
