import Intake
import Importing
import Verification
import Commands
import AppStoreSimulator
import SimulatedWorld
import Foundation
import PostgreSQL
import Reconciliation
import TestSupport
import Testing

/// Sales reports that are read into a database.
@Suite struct SalesJobTests {
    private static let reports: SQL =
        """
        SELECT day, developer, bundle_ids, lines, refused, replaced_at IS NOT NULL AS replaced
        FROM iap.sales_reports ORDER BY report_id
        """
    private static let sales: SQL =
        """
        SELECT report_id, bundle_id, product_id, storefront, price_milliunits, currency, units
        FROM iap.sales ORDER BY 1, 2, 3, 4, units
        """

    @Test func linesOfOneKindAreSummedUp() async throws {
        try await withSalesBooth { booth in
            let result = try await booth.read(
                SalesText(
                    ["Units": "2", "Device": "iPad"], ["Units": "3"], ["Units": "-1", "Customer Price": "-0.99"],
                    ["Country Code": "CN", "Customer Currency": "CNY", "Customer Price": "6.00"], ["SKU": "coins"],
                    ["Customer Price": "1.99"], ["Product Type Identifier": "1F"]))
            let file = try #require(result.files.first)
            #expect(file.lines == 7 && file.sales == 6 && file.others == 1 && file.refusedCount == 0)
            #expect(file.days.map(\.standing) == [.new])
            #expect(file.days.map(\.unitsSold) == [8] && file.days.map(\.unitsRefunded) == [1])
            #expect(try await booth.rows(Self.reports) == [#"(2026-11-20,Us,"{com.a,com.b}",6,0,f)"#])
            #expect(
                try await booth.rows(Self.sales) == [
                    "(1,com.a,gems,CHN,6000,CNY,1)", "(1,com.a,gems,USA,990,USD,-1)", "(1,com.a,gems,USA,1990,USD,1)",
                    "(1,com.a,gems,USA,990,USD,5)", "(1,com.b,coins,USA,990,USD,1)",
                ])
        }
    }

    /// However it is packed, and in whatever order its lines come.
    @Test func theSameReportAgainChangesNothing() async throws {
        try await withSalesBooth { booth in
            var report = SalesText(["Units": "2"], ["Units": "-1"], ["SKU": "coins"], ["Units": "0"])
            _ = try await booth.read(report)
            let before = try await booth.rows("SELECT * FROM iap.sales_reports") + booth.rows(Self.sales)
            report.lines.reverse()
            report.lineEnd = "\r\n"
            let again = try await booth.read([try booth.write(report, as: "again.txt.gz", compressed: true)])
            #expect(again.files.flatMap(\.days).map(\.standing) == [.unchanged])
            #expect(try await booth.rows("SELECT * FROM iap.sales_reports") + booth.rows(Self.sales) == before)
            #expect(try await booth.rows("SELECT kind FROM iap.events") == ["(sales_read)"])
        }
    }

    @Test func aCorrectedReportTakesTheEarlierOnesPlace() async throws {
        try await withSalesBooth { booth in
            _ = try await booth.read(SalesText(["Units": "2"], ["SKU": "coins"]))
            let corrected = try await booth.read(SalesText(["Units": "5"]))
            #expect(corrected.files.flatMap(\.days).map(\.standing) == [.replaced])
            #expect(corrected.figures?.unitsSold == 5)
            #expect(
                try await booth.rows(Self.reports) == [
                    #"(2026-11-20,Us,"{com.a,com.b}",2,0,t)"#, "(2026-11-20,Us,{com.a},1,0,f)",
                ])
            #expect(
                try await booth.rows(
                    """
                    SELECT kind, actor = \(booth.database.jobLogin) AS by_job, details ->> 'units_sold' AS units
                    FROM iap.events ORDER BY event_id
                    """) == ["(sales_read,t,3)", "(sales_replaced,t,5)"])
            // Nothing was sold at all, and the report says so by its other lines.
            let none = try await booth.read(SalesText(["Product Type Identifier": "1F"]))
            #expect(none.files.flatMap(\.days).map(\.standing) == [.replaced])
            #expect(none.figures?.unitsSold == 0)
        }
    }

    @Test func aReportWithRefusedLinesTakesNoOnesPlace() async throws {
        try await withSalesBooth { booth in
            let broken = try await booth.read(SalesText(["Units": "2"], ["Units": "?"]))
            #expect(broken.files.flatMap(\.days).map(\.standing) == [.new])
            #expect(broken.files.map(\.refused) == [[.badValue: 1]])
            #expect(try await booth.read(SalesText(["Units": "2"], ["Units": "1"])).figures?.unitsSold == 3)
            let kept = try await booth.read(SalesText(["Units": "2"], ["Units": "?"]))
            #expect(kept.files.flatMap(\.days).map(\.standing) == [.kept])
            #expect(kept.figures?.unitsSold == 3)
            #expect(
                try await booth.rows(Self.reports) == [
                    "(2026-11-20,Us,{com.a},1,1,t)", "(2026-11-20,Us,{com.a},2,0,f)",
                ])
        }
    }

    @Test func reportsOfTwoAccountsStandBesideEachOther() async throws {
        try await withSalesBooth { booth in
            _ = try await booth.read(SalesText(["Units": "2"]))
            let other = try await booth.read(SalesText(["SKU": "coins", "Developer": "Others"]))
            #expect(other.files.flatMap(\.days).map(\.standing) == [.new])
            #expect(other.figures?.unitsSold == 3)
        }
    }

    @Test func severalDaysInOneFileAreSeveralReports() async throws {
        try await withSalesBooth { booth in
            let next = ["Begin Date": "11/21/2026", "End Date": "11/21/2026", "Units": "7"]
            let result = try await booth.read(SalesText([:], next))
            #expect(result.files.flatMap(\.days).map(\.day.description) == ["2026-11-20", "2026-11-21"])
            #expect(result.figures?.days == 2)
            let corrected = try await booth.read(SalesText([:], next.merging(["Units": "8"]) { $1 }))
            #expect(corrected.files.flatMap(\.days).map(\.standing) == [.unchanged, .replaced])
        }
    }

    @Test func whatWasCorrectedDoesNotCountAgain() async throws {
        try await withSalesBooth { booth in
            _ = try await booth.read(SalesText(["Units": "2"]))
            _ = try await booth.read(SalesText(["Units": "3"]))
            let again = try await booth.read(SalesText(["Units": "2"]))
            #expect(again.files.flatMap(\.days).map(\.standing) == [.outdated])
            #expect(again.figures?.unitsSold == 3)
            let corrected = try await booth.read(SalesText(["Units": "4"]))
            #expect(corrected.files.flatMap(\.days).map(\.standing) == [.replaced])
        }
    }

    @Test func anAppIsKnownByItsSKUOrByItsProduct() async throws {
        try await withSalesBooth { booth in
            var booth = booth
            let lines = SalesText(
                [:], ["SKU": "both"], ["SKU": "both", "Parent Identifier": "B"],
                ["SKU": "new", "Parent Identifier": "B"], ["SKU": "secret", "Parent Identifier": "C"],
                ["SKU": "secret", "Parent Identifier": " "])
            let unnamed = try await booth.read(lines)
            #expect(unnamed.files.map(\.unknownApps) == [["B": 2, "C": 1, "": 1]])
            #expect(unnamed.files.map(\.sales) == [2] && unnamed.files.map(\.lines) == [6])
            booth.apps = [try Self.app("com.b", sku: "B")]
            let named = try await booth.read(lines)
            #expect(named.files.map(\.unknownApps) == [["C": 1, "": 1]])
            #expect(named.files.flatMap(\.days).map(\.standing) == [.replaced])
            #expect(
                try await booth.rows(
                    """
                    SELECT bundle_id, product_id, sum(units) AS units
                    FROM iap.sales JOIN iap.sales_reports USING (report_id)
                    WHERE replaced_at IS NULL AND bundle_id IS NOT NULL GROUP BY 1, 2 ORDER BY 1, 2
                    """) == ["(com.a,both,1)", "(com.a,gems,1)", "(com.b,both,1)", "(com.b,new,1)"])
        }
    }

    /// Of the products of an app without a configured SKU some may not be listed yet.
    @Test func whatIsNotListedIsOfTheAppOfItsSKU() async throws {
        try await withSalesBooth { booth in
            let unlisted = ["SKU": "new", "Units": "5"]
            let before = try await booth.read(SalesText(unlisted))
            #expect(before.files.map(\.unknownApps) == [["GAME": 1]])
            let day = ["Begin Date": "11/21/2026", "End Date": "11/21/2026"]
            let beside = try await booth.read(SalesText(day, unlisted.merging(day) { $1 }))
            #expect(beside.files.map(\.unknownApps) == [[:]])
            #expect(beside.figures?.unitsSold == 6)
            // What another day's report told.
            let again = try await booth.read(SalesText(unlisted))
            #expect(again.files.map(\.unknownApps) == [[:]])
            #expect(again.files.flatMap(\.days).map(\.standing) == [.replaced])
            #expect(again.figures?.unitsSold == 5)
            // Of another account it tells nothing, nor does a line without an SKU.
            let others = try await booth.read(
                SalesText(
                    unlisted.merging(["Developer": "Others"]) { $1 }, ["Parent Identifier": " "],
                    ["SKU": "new", "Parent Identifier": " "]))
            #expect(others.files.map(\.unknownApps) == [["GAME": 1, "": 1]])
        }
    }

    /// An app of which nobody knows sells a product of the same id: which of both SKUs is the listed app's?
    @Test func anAppThatSeemsToHaveTwoSKUsTellsNothing() async throws {
        try await withSalesBooth { booth in
            let read = try await booth.read(
                SalesText(
                    [:], ["Parent Identifier": "STRANGE"], ["SKU": "new"], ["SKU": "n", "Parent Identifier": "STRANGE"])
            )
            #expect(read.files.map(\.unknownApps) == [["GAME": 1, "STRANGE": 1]])
        }
    }

    /// Two hosts whose configurations differ read the same file in turn.
    @Test func whoeverKnowsFewerAppsTakesAwayNone() async throws {
        try await withSalesBooth { booth in
            var booth = booth
            let (a, b) = (try Self.app("com.a", sku: "A"), try Self.app("com.b", sku: "B"))
            let first = ["SKU": "gold", "Parent Identifier": "A", "Units": "10"]
            let second = ["SKU": "silver", "Parent Identifier": "B", "Units": "5"]
            let lines = SalesText(first, second)
            // First one of them, then both, then the other one alone, then none.
            for (apps, standing, sold, unknown) in [
                ([a], .new, 10, ["B": 1]), ([a, b], .replaced, 15, [:]), ([b], .unchanged, 15, [:]),
                ([], .unchanged, 15, [:]),
            ] as [([AppSettings], SalesDayOutcome.Standing, Int, [String: Int])] {
                booth.apps = apps
                let result = try await booth.read(lines)
                #expect(result.files.flatMap(\.days).map(\.standing) == [standing])
                #expect(result.figures?.unitsSold == sold)
                #expect(result.files.map(\.unknownApps) == [unknown])
            }
            // A correction takes away none either, and what it corrected comes back with no configuration.
            booth.apps = [b]
            let corrected = try await booth.read(SalesText(first, second.merging(["Units": "6"]) { $1 }))
            #expect(corrected.files.flatMap(\.days).map(\.standing) == [.replaced])
            #expect(corrected.figures?.unitsSold == 16)
            for apps in [[a], [a, b], []] {
                booth.apps = apps
                let again = try await booth.read(lines)
                #expect(again.files.flatMap(\.days).map(\.standing) == [.outdated])
                #expect(again.figures?.unitsSold == 16)
            }
        }
    }

    private static func app(_ bundleID: String, sku: String) throws -> AppSettings {
        AppSettings(
            app: App(
                bundleID: try #require(BundleID(bundleID)), environment: .production, grace: Grace(0), since: nil),
            sku: sku)
    }

    @Test func aFileOfNoUseIsNamedAndTheOthersAreRead() async throws {
        try await withSalesBooth { booth in
            let good = try booth.write(SalesText([:]), as: "a.txt")
            let week = try booth.write(SalesText([:], ["End Date": "11/26/2026"]), as: "b.txt")
            let cut = try booth.write(Array(try Gzip.compressed(SalesText([:]).bytes).dropLast(4)), as: "c.gz")
            let next = ["Begin Date": "11/21/2026", "End Date": "11/21/2026"]
            let last = try booth.write(SalesText(next), as: "d.txt")
            let missing = booth.folder.appending(path: "missing").path(percentEncoded: false)
            let result = try await booth.read([good, week, cut, missing, last])
            #expect(result.files.map { $0.problem == nil } == [true, false, false, false, true])
            #expect(result.files[2].problem == .damaged(file: cut))
            #expect(result.files[3].problem == .unreadable(file: missing, why: "No such file or directory"))
            #expect(result.figures?.days == 2 && result.figures?.unitsSold == 2)
        }
    }

    @Test func whatNothingToldTheServerOfIsADifference() async throws {
        try await withSalesBooth { booth in
            let owner = try await booth.database.connect()
            defer { owner.close() }
            // The second is bought at a quarter to midnight in Cupertino.
            for (id, moment) in [("1", "2026-11-20T20:00:00Z"), ("2", "2026-11-21T07:45:00Z")] {
                _ = try await owner.query(
                    """
                    SELECT iap.admit(
                        'com.a', 'Production', \(id), \(id), 'gems', 1, \(moment)::text::timestamptz, 'ann', NULL)
                    """)
            }
            let day = try await booth.read(SalesText(["Units": "3"], ["Units": "-1"], ["SKU": "coins"]))
            #expect(day.differences.map(\.productID.text).sorted() == ["coins", "gems"])
            let gems = try #require(day.differences.first { $0.productID.text == "gems" })
            #expect(gems.place == .everywhere && gems.unitsSold == 3 && gems.unitsSeen == 2)
            #expect(gems.difference == 1 && gems.differenceAround == 1 && gems.refundDifference == 1)
            #expect(gems.productName == "Gems")
            let coins = try #require(day.differences.first { $0.productID.text == "coins" })
            #expect(coins.place == .country("USA") && coins.difference == 1)
            #expect(day.figures?.missing == 2 && day.figures?.surplus == 0)
            let equal = try await booth.read(SalesText(["Units": "2"]))
            #expect(equal.differences == [] && equal.figures?.missing == 0)
            #expect(
                try await booth.rows("SELECT units_sold, units_seen FROM finance.sold_against_seen", as: "iap_finance")
                    == ["(2,2)"])
        }
    }

    /// Whoever comes later waits, and finds the day read.
    @Test func twoThatReadAtOnceTakeTurns() async throws {
        try await withSalesBooth { booth in
            let lines = (0..<600).map { SalesText.line(["Title": "line \($0)", "Units": "1"]) }
            let file = try booth.write(SalesText(lines: lines), compressed: true)
            let results = try await withThrowingTaskGroup(of: SalesResult.self) { group in
                for _ in 0..<4 { group.addTask { try await booth.read([file]) } }
                return try await group.reduce(into: []) { $0.append($1) }
            }
            let standings = results.flatMap { $0.files.flatMap(\.days) }.map(\.standing.rawValue).sorted()
            #expect(standings == ["new", "unchanged", "unchanged", "unchanged"])
            #expect(results.allSatisfy { $0.figures?.unitsSold == 600 })
        }
    }
}

extension ScratchDatabase {
    /// The login by which tests work as iap_job.
    fileprivate var jobLogin: String {
        let word = conninfo(as: "iap_job").split(separator: " ").first { $0.hasPrefix("user=") }
        return word.map { String($0.dropFirst(5)).trimmingCharacters(in: CharacterSet(charactersIn: "'")) } ?? ""
    }
}
