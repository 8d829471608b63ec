import Testing

@testable import Reporting

@Suite struct CSVTests {
    @Test(
        arguments: [
            ("a", "a"), ("a,b", "\"a,b\""), ("a\"b", "\"a\"\"b\""), ("=1", "'=1"), ("a\0b", "ab"),
            // To Swift, a quote and the accent behind it are one character.
            ("a\"\u{0301},b", "\"a\"\"\u{0301},b\""), ("a\r\nb", "\"a\r\nb\""),
        ])
    func aCellIsQuotedWhereItMustBe(text: String, cell: String) {
        #expect(Array(CSV.line([text, "x"]).unicodeScalars) == Array("\(cell),x\r\n".unicodeScalars))
    }
}
