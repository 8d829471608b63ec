import Reconciliation
import Testing

/// Days, and the countries' codes, as sales reports write them.
@Suite struct CalendarDayTests {
    @Test(arguments: [
        ("2026-11-20", "11/20/2026"), ("2024-02-29", "02/29/2024"), ("2000-02-29", "02/29/2000"),
        ("2026-10-10", "10/10/2026"), ("2026-09-09", "09/09/2026"),
    ])
    func aDayIsReadAsItIsWritten(iso: String, american: String) throws {
        let day = try #require(CalendarDay(iso))
        #expect(CalendarDay(american: american) == day)
        #expect(day.description == iso)
    }

    @Test(
        arguments: [
            "", "2026-11-31", "2025-02-29", "1900-02-29", "2026-13-01", "2026-00-10", "2026-01-00", "26-11-20",
            "2026-1-20", "2026-11-20 ", "2026-11-2x", "+026-11-20", "2026-+1-20", "2026-11", "2026-11-20-",
            "٢٠٢٦-11-20", "0999-01-01",
        ])
    func whatIsNoDayIsNone(text: String) {
        #expect(CalendarDay(text) == nil)
    }

    @Test(arguments: [
        "20/11/2026", "11/20/26", "1/2/2026", "2026/11/20", "11-20-2026", "02/29/2025", "+1/20/2026", "//",
    ])
    func whatIsNoAmericanDayIsNone(text: String) {
        #expect(CalendarDay(american: text) == nil)
    }

    @Test func daysAreOrdered() throws {
        let days = try ["2025-12-31", "2026-01-01", "2026-01-02", "2026-02-01"].map { try #require(CalendarDay($0)) }
        #expect(days.shuffled().sorted() == days)
    }

    @Test(arguments: [
        ("2026-02-01", "2026-02-28"), ("2024-02-10", "2024-02-29"), ("2026-04-30", "2026-04-30"),
        ("2026-12-01", "2026-12-31"),
    ])
    func aMonthHasItsLastDay(day: String, last: String) throws {
        #expect(try #require(CalendarDay(day)).lastOfMonth == CalendarDay(last))
    }

    @Test(arguments: [("US", "USA"), ("CN", "CHN"), ("GB", "GBR"), ("JP", "JPN"), ("XK", "XKS"), ("ZW", "ZWE")])
    func aCountryHasBothCodes(code: String, storefront: String) {
        #expect(Country.storefront(ofCode: code) == storefront)
        #expect(Country.code(ofStorefront: storefront) == code)
    }

    @Test(arguments: ["", "us", "XX", "USA", "U"])
    func whatIsNoCountryIsNone(code: String) {
        #expect(Country.storefront(ofCode: code) == nil)
    }

    @Test func onlyWhatIsBoughtInAnAppCounts() {
        for identifier in ["IA1", "IA1-M", "IA9", "IA9-M", "IAY", "IAY-M", "IAC", "IAC-M", "FI1"] {
            #expect(SalesProductType(identifier: identifier) == .inAppPurchase)
        }
        for identifier in ["IA3", "IA3-M"] { #expect(SalesProductType(identifier: identifier) == .restored) }
        for identifier in ["1", "1F", "3F", "7", "F1", "F7", "1-B", ""] {
            #expect(SalesProductType(identifier: identifier) == .other)
        }
        for identifier in ["IAZ", "FI2"] {
            #expect(SalesProductType(identifier: identifier) == .unknownInAppPurchase)
        }
    }
}
