import Testing

@testable import Reporting

/// The texts in a spreadsheet's cells.
@Suite struct SheetTests {
    /// A spreadsheet reads `_x202E_` as U+202E, and `_x005F_` as an underscore.
    @Test(arguments: [
        ("anna_x0062_", "anna_x005F_x0062_"), ("a_x202E_\u{202E}b", "a_x005F_x202E_\u{FFFD}b"),
        ("_x000a_x000A_", "_x005F_x000a_x005F_x000A_"), ("_x005F_", "_x005F_x005F_"),
        ("non_consumable_x_x12_x00411_x004", "non_consumable_x_x12_x00411_x004"), ("_X0041_", "_X0041_"),
    ])
    func aTextIsReadAsItIs(text: String, written: String) {
        #expect(Sheet.clean(text) == written)
    }

    @Test func aTextThatIsWrittenLongerStillFits() {
        for text in ["_x0041", "_x0041é"] {
            #expect(Sheet.clean(String(repeating: text, count: 10_000)).unicodeScalars.count <= 32_767)
        }
    }
}
