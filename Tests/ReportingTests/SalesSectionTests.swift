import Foundation
import Reconciliation
import Testing

@testable import Reporting

/// What a report tells of sales reports, in every form.
@Suite struct SalesSectionTests {
    private func report(_ differences: [ComparedSales], _ body: (String) throws -> Void) throws {
        try withFolder { folder in
            var run = Sample.run()
            run.sales = try Sample.salesFigures()
            let writer = try ReportWriter(directory: folder, programVersion: "1.0")
            try writer.begin(run)
            for difference in differences { try writer.add(difference) }
            try writer.finish()
            try body(writer.location)
        }
    }

    private func text(_ folder: String, _ name: String) throws -> String {
        try String(contentsOfFile: "\(folder)/\(name)", encoding: .utf8)
    }

    @Test func everyFormTellsOfTheDifferences() throws {
        try report(try Sample.salesDifferences()) { folder in
            let page = try text(folder, "index.html")
            #expect(page.contains("29 Oct 2026") && page.contains("2026年10月29日"))
            #expect(page.contains("United States") && page.contains("美国"))
            #expect(page.contains("<td class=\"figure\">+2</td>") && page.contains("<td class=\"figure\">−1</td>"))
            #expect(page.contains("Starter &lt;b&gt;"))
            let summary = try text(folder, "summary.txt")
            #expect(summary.contains("sold against seen   1204 units sold, 1203 seen on 29 days to 2026-10-29: "))
            #expect(summary.contains("2 sold and never seen, 1 seen and not sold\n"))
            let json = try JSONSerialization.jsonObject(with: Data(try text(folder, "report.json").utf8))
            let listed = try #require((json as? [String: Any])?["sold_against_seen"] as? [[String: Any]])
            #expect(listed.map { $0["storefront"] as? String } == ["USA", nil])
            #expect(listed.map { $0["difference"] as? Int } == [2, -1])
            #expect(listed.map { $0["compared_by"] as? String } == ["country", "product"])
            let sums = try #require((json as? [String: Any])?["sales"] as? [String: Any])
            #expect(sums["first_day"] as? String == "2026-10-01" && sums["missing"] as? Int == 2)
        }
    }

    @Test func whereAllIsEqualThePageSaysSo() throws {
        try report([]) { folder in
            let page = try text(folder, "index.html")
            #expect(page.contains("All that was sold was seen.") && page.contains("售出的全部见到。"))
        }
    }

    @Test func whoReadsNoSalesReportsIsToldNothing() throws {
        try withFolder { folder in
            let writer = try ReportWriter(directory: folder, programVersion: "1.0")
            try writer.begin(Sample.run())
            try writer.finish()
            let page = try text(writer.location, "index.html")
            #expect(!page.contains("Sold against seen"))
            #expect(!(try text(writer.location, "summary.txt")).contains("sold"))
            #expect(try text(writer.location, "report.json").contains("\"sold_against_seen\":[]"))
        }
    }
}
