import Testing

@testable import Reporting

@Suite struct CSVTests {
    @Test(
        arguments: [
            ("a", "a"), ("a,b", "\"a,b\""), ("a\"b", "\"a\"\"b\""), ("=1", "'=1"), ("a\0b", "ab"),
            // To Swift, a quote and the accent behind it are one character.
            ("a\"\u{0301},b", "\"a\"\"\u{0301},b\""), ("a\r\nb", "\"a\r\nb\""),
            ("\n=1", "\"'\n'=1\""), ("\u{FF1D}1", "'\u{FF1D}1"), ("|calc", "'|calc"), ("%1", "'%1"),
            ("\u{FEFF}=1", "'\u{FEFF}=1"), ("\u{FF5C}1", "'\u{FF5C}1"), ("\u{FF05}1", "'\u{FF05}1"),
            // Where cells are separated by semicolons, a quote within a line is none.
            ("a;b", "\"a;b\""), ("a\tb", "\"a\tb\""), ("a;=1;b;@c", "\"a;'=1;b;'@c\""), ("a\r\n=1", "\"a\r\n'=1\""),
            ("a;\0=1", "\"a;'=1\""), (";=1", "\";'=1\""),
            // A spreadsheet rounds numbers of more than 15 digits, and writes those of 12 as 1.2E+11.
            ("123456789012345678", "'123456789012345678"), ("12345678901", "12345678901"),
            ("123456789012 | 1", "123456789012 | 1"),
            // And takes these for 42 and 120000.
            ("0042", "'0042"), ("12e4", "'12e4"), ("12E4", "'12E4"), ("0", "0"),
            ("12e4e5", "12e4e5"), ("e4", "e4"), ("12e", "12e"), ("1f4", "1f4"), ("", ""),
            ("a\u{1B}[2J\u{9B}\u{202E}", "a\u{FFFD}[2J\u{FFFD}\u{FFFD}"),
        ])
    func aCellIsQuotedWhereItMustBe(text: String, cell: String) {
        #expect(Array(CSV.line([text, "x"]).unicodeScalars) == Array("\(cell),x\r\n".unicodeScalars))
    }

    /// What a spreadsheet takes for a date, a time, a share, another number or a truth.
    @Test(arguments: [
        "1/2", "2026-11-05", "12:30", "1.50", "10%", "3-4", "1,5", "1 2", "5may", "5-May", "MARCH1", "Sept-2", "TRUE",
        "false",
    ])
    func aNameThatReadsAsAValueIsKeptAsText(name: String) {
        #expect(CSV.line([CSV.name(name)]) == CSV.line(["'" + name]))
    }

    @Test(arguments: [
        "", "user-7", "10042", "1b4e28ba-2fa1-11d2-883f-0016d3cca427", "gold.100", "一百金币", "5五月", "truth", "May",
        "1 may be",
        "v1", "7 | 8 | ann", "2026-11-05T10:00:00Z", String(repeating: "1-", count: 17),
    ])
    func anyOtherNameStaysAsItIs(name: String) { #expect(CSV.name(name) == name) }

    @Test func whatAProgramReadsBackIsAsItWas() {
        #expect(CSV.line(["a;=1", "=1", "0042"], isReadBack: true) == "\"a;=1\",'=1,0042\r\n")
    }
}
