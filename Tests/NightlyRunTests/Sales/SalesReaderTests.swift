@testable import Importing
import AppStoreSimulator
import SimulatedWorld
import Foundation
import Reconciliation
import Testing

/// Sales reports as Apple writes them, as people save them, and broken ones.
@Suite struct SalesReaderTests {
    @Test func aLineSaysWhatWasSold() async throws {
        let read = try await readSales(SalesText(["Units": "3", "Country Code": "CN"]).bytes)
        let line = try #require(read.sales.first)
        #expect(read.lines == 1)
        #expect(line.day.description == "2026-11-20" && line.developer == "Us" && line.appSKU == "GAME")
        #expect(line.productID.text == "gems" && line.type == "IA1" && line.storefront == "CHN" && line.units == 3)
        let currency = try #require(CurrencyCode("USD"))
        #expect(line.price == Money(milliunits: 990, currency: currency))
        #expect(line.proceeds == Money(milliunits: 700, currency: currency))
    }

    @Test func aRefundHasNegativeUnitsAndAPriceWithoutSign() async throws {
        let read = try await readSales(SalesText(["Units": "-2", "Customer Price": "-0.99"]).bytes)
        #expect(read.sales.map(\.units) == [-2])
        #expect(read.sales.map(\.price?.milliunits) == [990])
    }

    /// However it was saved, the same lines come out.
    @Test(arguments: 0..<8)
    func howItWasSavedMakesNoDifference(variant: Int) async throws {
        let lines = (0..<12_000).map { SalesText.line(["SKU": "gems.\($0)", "Units": "\($0)"]) }
        var text = SalesText(lines: lines)
        let expected = try await readSales(text.bytes).sales
        #expect(expected.count == 12_000)
        if variant & 1 > 0 { text.lineEnd = "\r\n" }
        if variant & 2 > 0 { text.columns = ["Something new", "Another"] + text.columns.reversed() }
        var bytes = Array((variant & 4 > 0 ? "\u{FEFF}" : "").utf8) + text.bytes
        if variant & 1 > 0 { bytes.removeLast(2) }
        #expect(try await readSales(bytes, pieces: 100_003).sales == expected)
        #expect(try await readSales(try Gzip.compressed(bytes), pieces: 1_009).sales == expected)
    }

    @Test func columnsThatMayBeMissingAre() async throws {
        var text = SalesText([:])
        text.columns = SalesColumn.allCases.filter(\.isRequired).map { $0.name.uppercased() }
        text.lines = text.lines.map { line in
            Dictionary(uniqueKeysWithValues: line.map { ($0.key.uppercased(), $0.value) })
        }
        let line = try #require(try await readSales(text.bytes).sales.first)
        #expect(line.price == nil && line.proceeds == nil && line.developer == "")
    }

    @Test(arguments: SalesColumn.allCases.filter(\.isRequired))
    func aColumnThatIsNeededIsNamed(column: SalesColumn) async throws {
        var text = SalesText([:])
        text.columns.removeAll { $0 == column.name }
        let bytes = text.bytes
        await #expect(throws: SalesError.missingColumns([column.name], file: "report.txt")) {
            try await readSales(bytes)
        }
    }

    @Test func whatIsNoSalesReportIsNamed() async throws {
        await #expect(throws: SalesError.empty(file: "report.txt")) { try await readSales([]) }
        await #expect(throws: SalesError.empty(file: "report.txt")) { try await readSales(Array(" \r\n\n".utf8)) }
        await #expect(throws: SalesError.self) { try await readSales(Array("a,b,c\n1,2,3\n".utf8)) }
        let zeros = [UInt8](repeating: 0, count: 200_000)
        await #expect(throws: SalesError.self) { try await readSales(zeros) }
        let compressed = try Gzip.compressed(SalesText([:]).bytes)
        await #expect(throws: SalesError.damaged(file: "report.txt")) { try await readSales(compressed.dropLast(9)) }
        var text = SalesText([:])
        text.columns.append("Units")
        let bytes = text.bytes
        await #expect(throws: SalesError.repeatedColumn("Units", file: "report.txt")) { try await readSales(bytes) }
    }

    /// A few megabytes of gzip may hold gigabytes, and the night would wait for them.
    @Test func aFetchedReportMayNotGrowWithoutEnd() async throws {
        let bytes = SalesText(lines: Array(repeating: SalesText.line(), count: 1000)).bytes
        let compressed = try Gzip.compressed(bytes)
        let whole = SalesReader(PiecewiseSource(compressed), file: "report.txt", mostBytes: bytes.count)
        #expect(try await whole.next()?.sales.count == 1000)
        let limit = bytes.count - 1
        let tooLarge = SalesReader(PiecewiseSource(compressed), file: "report.txt", mostBytes: limit)
        await #expect(throws: SalesError.tooLarge(file: "report.txt", limit: limit)) {
            while try await tooLarge.next() != nil {}
        }
    }

    @Test func aWeekBelongsToNoDay() async throws {
        let bytes = SalesText([:], ["End Date": "11/26/2026"]).bytes
        let begin = try #require(CalendarDay("2026-11-20"))
        let end = try #require(CalendarDay("2026-11-26"))
        await #expect(throws: SalesError.notDaily(file: "report.txt", line: 3, begin: begin, end: end)) {
            try await readSales(bytes)
        }
    }

    @Test func whatCostsNothingNeedsNoCurrency() async throws {
        let read = try await readSales(
            SalesText(
                ["Customer Price": "0.00", "Customer Currency": " "], ["Customer Price": "0.00"],
                ["Customer Price": " ", "Customer Currency": " "], [:]
            ).bytes)
        #expect(read.sales.map(\.isFree) == [true, false, false, false])
        #expect(read.sales.map(\.price?.milliunits) == [nil, 0, nil, 990])
        #expect(read.refused.isEmpty)
    }

    @Test func whatIsNoSaleIsCounted() async throws {
        let read = try await readSales(
            SalesText(
                ["Product Type Identifier": "1F", "SKU": "GAME", "Parent Identifier": " ", "Units": "many"],
                ["Product Type Identifier": "IA3", "Developer": "Others"], [:]
            ).bytes)
        #expect(read.sales.count == 1 && read.others == 2 && read.refused.isEmpty)
        #expect(Set(read.otherDays.map(\.developer)) == ["Us", "Others"])
    }

    @Test(
        arguments: [
            (["Units": "1.5"], RefusalReason.badValue, "Units is no whole number"),
            (["Units": " "], .missing, "Units is missing"),
            (["Units": "99999999999999999999"], .badValue, "Units is no whole number"),
            (["Units": "-1000000001"], .badValue, "Units is more than anybody sold"),
            (
                ["Units": "1000000000", "Customer Price": "10000.01", "Customer Currency": "IDR"], .badValue,
                "Customer Price times Units is more than anybody sold"
            ),
            (
                ["Units": "1000000000", "Customer Price": "9223372036854775", "Customer Currency": "USD"], .badValue,
                "Customer Price times Units is more than anybody sold"
            ),
            (["SKU": ""], .missing, "SKU is missing"),
            (["SKU": "宝石"], .badValue, "SKU is no product id: 1 to 255 visible ASCII characters"),
            (["Begin Date": "2026-11-20"], .badValue, "Begin Date is no day such as 11/20/2026"),
            (["End Date": "02/30/2026"], .badValue, "End Date is no day such as 11/20/2026"),
            (["Country Code": "XX"], .badValue, "Country Code is no country"),
            (["Customer Price": "0.9999"], .badValue, "Customer Price is no amount with at most three decimals"),
            (["Customer Price": "free"], .badValue, "Customer Price is no amount with at most three decimals"),
            (["Customer Currency": "usd"], .badValue, "Customer Currency is no code of three capital letters"),
            (["Currency of Proceeds": " "], .missing, "Currency of Proceeds is missing"),
            (["Product Type Identifier": " "], .missing, "Product Type Identifier is missing"),
            (
                ["Product Type Identifier": "IAZ"], .badValue,
                "Product Type Identifier is none of Apple's for in-app purchases"
            ),
            (
                ["Parent Identifier": String(repeating: "x", count: 1001)], .badValue,
                "Parent Identifier has more than 1000 bytes"
            ),
            (["SKU": "a\0b"], .notText, "SKU is not UTF-8, or holds a NUL"),
            (["Title": "one\ttwo"], .malformed, "the line has 15 fields and the header 14"),
            (
                ["Title": String(repeating: "x", count: 70_000)], .tooLong, "the line has more than 64 KiB"
            ),
        ] as [([String: String], RefusalReason, String)])
    func aLineThatCanNotBeTakenIsNamed(fields: [String: String], reason: RefusalReason, text: String) async throws {
        let read = try await readSales(SalesText([:], fields, ["SKU": "coins"]).bytes)
        #expect(read.sales.map(\.productID.text) == ["gems", "coins"])
        #expect(read.refused.map(\.line) == [3])
        #expect(read.refused.map(\.reason) == [reason])
        #expect(read.refused.map(\.text) == [text])
    }

    @Test func aRefusedLineIsKnownByItsSKU() async throws {
        let read = try await readSales(SalesText(["Units": "?", "SKU": "gems.60"], ["Title": "a\tb"]).bytes)
        #expect(read.refused.map(\.id) == ["gems.60", nil])
    }

    @Test func bytesThatAreNoTextAreRefusedWhereTheyMatter() async throws {
        let marked = SalesText(["Developer": "D?"], ["Title": "T?"]).text
        let bytes = marked.utf8.map { $0 == UInt8(ascii: "?") ? 0xFF : $0 }
        let read = try await readSales(bytes)
        #expect(read.refused.map(\.text) == ["Developer is not UTF-8, or holds a NUL"])
        #expect(read.sales.count == 1)
    }

    /// Flipped, dropped, doubled and inserted bytes: every line is a sale, something else, or refused, and none is lost.
    @Test(arguments: 0..<60)
    func brokenReportsLoseNoLine(seed: UInt64) async throws {
        var random = SeededRandom(seed: seed)
        let lines = (0..<300).map { SalesText.line(["SKU": "gems.\($0)", "Units": "\(Int64($0) - 20)"]) }
        var file = SalesText(lines: lines).bytes
        let header = try #require(file.firstIndex(of: UInt8(ascii: "\n"))) + 1
        for _ in 0..<80 {
            let place = Int.random(in: header..<file.count, using: &random)
            switch Int.random(in: 0..<5, using: &random) {
            case 0: file[place] = UInt8.random(in: 0...255, using: &random)
            case 1: file.remove(at: place)
            case 2: file.insert(UInt8(ascii: "\t"), at: place)
            case 3: file.insert(UInt8(ascii: "\n"), at: place)
            default: file.insert(UInt8(ascii: "\""), at: place)
            }
        }
        let written = file[header...].split(separator: UInt8(ascii: "\n")).filter { line in
            !line.allSatisfy { [0x20, 0x09, 0x0D].contains($0) }
        }
        do {
            let read = try await readSales(file, pieces: 97)
            #expect(read.lines == written.count)
            #expect(read.sales.count > 150)
            #expect(read.refused.map(\.line) == read.refused.map(\.line).sorted())
        } catch SalesError.notDaily(_, _, let begin, let end) {
            // A digit of a date that was flipped makes a week of it: the whole file is refused.
            #expect(begin != end)
        }
    }

    /// Whatever the bytes are, the reader ends, with an error or with an account of every line.
    @Test(arguments: 0..<200)
    func anyBytesAreReadToTheirEnd(seed: UInt64) async throws {
        var random = SeededRandom(seed: seed)
        var bytes = (0..<Int.random(in: 0...3_000, using: &random)).map { _ in UInt8.random(in: 0...255, using: &random)
        }
        switch seed % 4 {
        case 0: bytes = [0x1F, 0x8B] + bytes
        case 1: bytes = SalesText([:]).bytes + bytes
        case 2: bytes = Array(try Gzip.compressed(SalesText([:]).bytes).prefix(40)) + bytes
        default: break
        }
        do {
            let read = try await readSales(bytes, pieces: 61)
            #expect(read.lines >= (seed % 4 == 1 ? 1 : 0))
        } catch is SalesError {}
    }

    /// What the simulator writes, it reads: every line, and every unit.
    @Test func theSimulatorsReportIsRead() async throws {
        let world = World(try WorldSettings(seed: 5, customers: 300, nights: 6))
        let day = world.lastPacificDay(beforeNight: 4)
        let report = world.salesReport(of: day)
        let read = try await readSales(try Gzip.compressed(Array(report.text.utf8)))
        #expect(read.refused.isEmpty)
        #expect(read.lines == report.text.count { $0 == "\n" } - 1)
        let paid = world.purchases.filter { $0.isOwed && SalesReport.pacificDay(of: $0.purchasedAt) == day }
        #expect(read.sales.map(\.units).filter { $0 > 0 }.reduce(0, +) == Int64(paid.map(\.units).reduce(0, +)))
        #expect(Set(read.sales.map(\.day.description)) == [day])
        #expect(Set(read.sales.map(\.appSKU)) == Set(World.storeApps(seed: 5).map(\.sku)))
    }
}
