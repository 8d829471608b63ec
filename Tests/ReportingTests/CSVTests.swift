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

    @Test func whatAProgramReadsBackIsAsItWas() {
        #expect(CSV.line(["a;=1", "=1", "0042"], isReadBack: true) == "\"a;=1\",'=1,0042\r\n")
    }
}
