import Foundation
import Reconciliation
import Reporting
import Testing

/// The list of all reports in the report directory.
@Suite struct OverviewTests {
    private func write(_ run: RunReport, to folder: String) throws {
        let writer = try ReportWriter(directory: folder, programVersion: "1.0")
        try writer.begin(run)
        try writer.finish()
    }

    private func run(_ id: Int64?, days: Double) -> RunReport {
        var run = Sample.run(cases: Int(days) + 3, runID: id)
        run.now = Sample.now.addingTimeInterval(days * 86_400)
        return run
    }

    @Test func listsEveryReportTheLatestFirst() throws {
        try withFolder { folder in
            try write(run(2, days: 1), to: folder)
            try write(run(1, days: 0), to: folder)
            try write(run(nil, days: 2), to: folder)
            try FileManager.default.createDirectory(atPath: "\(folder)/notes", withIntermediateDirectories: true)
            let page = try String(contentsOfFile: "\(folder)/index.html", encoding: .utf8)
            let links = page.matches(of: /href="([^"]+)\/index\.html"/).map { String($0.1) }
            #expect(links == ["2026-09-23-dry-run", "2026-09-22-run-2", "2026-09-21-run-1"])
            #expect(page.contains("<b>4</b>"))
            #expect(page.contains("JP¥230"))
        }
    }

    @Test func whatHasNoPriceIsNotNothing() throws {
        try withFolder { folder in
            var unpriced = run(1, days: 0)
            unpriced.cases.money = []
            unpriced.cases.unpriced = unpriced.cases.total
            try write(unpriced, to: folder)
            let index = try String(contentsOfFile: "\(folder)/index.html", encoding: .utf8)
            #expect(index.contains(#"<td class="sum"><span class="soft"><span lang="en">not known"#))
            let page = try String(contentsOfFile: "\(folder)/2026-09-21-run-1/index.html", encoding: .utf8)
            #expect(page.contains(#"<ul class="sums"><li><span lang="en">3 without a price"#))
        }
    }

    @Test func whatHasNoPriceStandsBesideTheMoneyThatLeavesItOut() throws {
        try withFolder { folder in
            var mixed = run(1, days: 0)
            mixed.cases.unpriced = 2
            try write(mixed, to: folder)
            let index = try String(contentsOfFile: "\(folder)/index.html", encoding: .utf8)
            #expect(index.contains(#"<span class="soft"><span lang="en">2 without a price"#))
            let figures = try String(contentsOfFile: "\(folder)/2026-09-21-run-1/figures.json", encoding: .utf8)
            #expect(figures.contains(#""unpriced":2"#))
        }
    }

    @Test func leavesOutWhatWasTakenAway() throws {
        try withFolder { folder in
            try write(run(1, days: 0), to: folder)
            try FileManager.default.removeItem(atPath: "\(folder)/2026-09-21-run-1")
            try write(run(2, days: 1), to: folder)
            let page = try String(contentsOfFile: "\(folder)/index.html", encoding: .utf8)
            #expect(!page.contains("run-1/"))
            #expect(page.contains("run-2/"))
        }
    }

    @Test func linksToACopyOfAnyName() throws {
        try withFolder { folder in
            try write(run(1, days: 0), to: folder)
            try FileManager.default.copyItem(
                atPath: "\(folder)/2026-09-21-run-1", toPath: "\(folder)/#1 50% 副本?")
            try write(run(2, days: 1), to: folder)
            let page = try String(contentsOfFile: "\(folder)/index.html", encoding: .utf8)
            #expect(page.contains("href=\"%231%2050%25%20%E5%89%AF%E6%9C%AC%3F/index.html\""))
        }
    }

    @Test func drawsARunOnceThatHasTwoFolders() throws {
        try withFolder { folder in
            try write(run(1, days: 0), to: folder)
            var latest = run(2, days: 1)
            try write(latest, to: folder)
            latest.timeZone = try #require(TimeZone(identifier: "Pacific/Apia"))
            try write(latest, to: folder)
            let page = try String(contentsOfFile: "\(folder)/index.html", encoding: .utf8)
            #expect(page.contains("2026-09-22-run-2/"))
            #expect(page.contains("2026-09-23-run-2/"))
            #expect(page.contains("Over the last 2 runs"))
        }
    }

    @Test func saysWhyARunEndedEarly() throws {
        try withFolder { folder in
            var early = run(1, days: 0)
            early.outcome = .endedEarly("Apple <is> down")
            try write(early, to: folder)
            let page = try String(contentsOfFile: "\(folder)/index.html", encoding: .utf8)
            #expect(page.contains(#"<span class="soft reason">Apple &lt;is&gt; down"#))
        }
    }
}
