@testable import Importing
import Testing

/// Amounts and units, exactly as they are written.
@Suite struct DecimalTextTests {
    @Test(
        arguments: [
            ("0", 0), ("0.99", 990), (".70", 700), ("1.", 1000), ("-0.99", -990), ("6480", 6_480_000), ("1.234", 1234),
            ("1.2340000", 1234), ("-0", 0), ("007.5", 7500), ("9223372036854775.807", Int64.max),
            ("-9223372036854775.808", Int64.min), ("0.1", 100), ("0.29", 290),
        ] as [(String, Int64)])
    func anAmountIsExact(text: String, milliunits: Int64) {
        #expect(DecimalText.milliunits(text) == milliunits)
    }

    @Test(
        arguments: [
            "", "-", ".", "-.", "1.2345", "1,000.00", "1e3", "+1", "0x10", " 1", "1 ", "--1", "1.2.3", "١", "NaN", "½",
            "9223372036854775.808", "99999999999999999999",
        ])
    func whatIsNoAmountIsNone(text: String) {
        #expect(DecimalText.milliunits(text) == nil)
    }

    @Test(arguments: [("1", 1), ("-12", -12), ("3.00", 3), ("0", 0)] as [(String, Int64)])
    func unitsAreWhole(text: String, units: Int64) {
        #expect(DecimalText.whole(text) == units)
    }

    @Test(arguments: ["1.5", "0.001", "one", ""])
    func whatIsNotWholeIsNone(text: String) {
        #expect(DecimalText.whole(text) == nil)
    }
}
