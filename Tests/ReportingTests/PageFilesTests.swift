import Foundation
import Reconciliation
import Testing

@testable import Reporting

/// How cases are dealt out to pages.
@Suite struct PageFilesTests {
    /// The ids of the cases of each page, where a page holds ten of them.
    private func pages(of cases: [ReportedCase]) throws -> [[String]] {
        var pages: [[String]] = []
        try withFolder { directory in
            var limits = PageFiles.Limits()
            limits.cases = 10
            limits.overhang = 1.5
            let context = ReportContext(
                run: Sample.run(cases: cases.count), folder: try ReportFolder(directory: directory),
                language: .english, programVersion: "1.0")
            let files = try PageFiles(context, limits: limits)
            for found in cases { try files.add(found) }
            try files.finish()
            var number = 1
            let folder = context.folder
            while let page = try? String(contentsOfFile: folder.path(of: CasePage.name(of: number)), encoding: .utf8) {
                let data = page.components(separatedBy: "id=\"cases\">[\n")[1]
                pages.append(
                    data.components(separatedBy: "\n").prefix { $0.hasPrefix("[") }.map { line in
                        line.components(separatedBy: "\"")[1]
                    })
                number += 1
            }
        }
        return pages
    }

    private func cases(_ users: [String]) -> [ReportedCase] {
        Sample.gathered(users.enumerated().map { Sample.lostOrder(id: "\($0 + 1)", user: $1) })
    }

    /// Otherwise a browser tells the cases in UTC, below a head in the report's zone.
    @Test(arguments: [
        ("GMT+8", "+08:00"), ("GMT-03:30", "-03:30"), ("GMT", "GMT"), ("Etc/GMT-8", "Etc/GMT-8"),
        ("Asia/Shanghai", "Asia/Shanghai"),
    ])
    func browsersKnowTheZone(configured: String, known: String) throws {
        var run = Sample.run()
        run.timeZone = try #require(TimeZone(identifier: configured))
        #expect(PageSettings(run: run, cases: CaseData()).timeZone == known)
    }

    /// As check says: in a receipt that was uploaded for something else, for it, or in none.
    @Test func aPageTellsHowAPurchaseWasSeen() throws {
        var found = Sample.lostOrder()
        found.sightings = [(false, true), (true, true), (false, false)].map { isNamed, isInReceipt in
            Sighting(
                receiptID: 64, userID: nil, orderID: nil, isNamed: isNamed, isInReceipt: isInReceipt,
                uploadedAt: Sample.now)
        }
        var data = CaseData()
        let line = try JSONSerialization.jsonObject(with: Data(data.line(found).utf8))
        let place = try #require(CaseData.fields.firstIndex(of: "sightings"))
        let sightings = try #require((line as? [Any])?[place] as? [[Any]])
        let seen = PageSettings(run: Sample.run(), cases: data).seen
        #expect(
            sightings.map { ($0[3] as? Int).map { seen[$0] } } == ["uploadedAlong", "uploadedFor", "inHistory"])
    }

    @Test func aCustomersCasesStayTogether() throws {
        let users = (1...8).map { "u\($0)" } + Array(repeating: "many", count: 5) + ["v1", "v2"]
        #expect(try pages(of: cases(users)).map(\.count) == [13, 2])
    }

    @Test func oneCustomersCasesMayFillSeveralPages() throws {
        let pages = try pages(of: cases(Array(repeating: "many", count: 40)))
        #expect(pages.map(\.count) == [15, 15, 10])
        #expect(pages.flatMap(\.self) == (1...40).map(String.init))
    }
}
