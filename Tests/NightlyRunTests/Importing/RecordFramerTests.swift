@testable import Importing
import Testing

/// Where records begin and end, however the file comes.
@Suite struct RecordFramerTests {
    private func records(_ text: String, isQuoted: Bool = true, limit: Int = 40, size: Int) throws -> [String] {
        var framer = RecordFramer(PiecewiseSource(text.utf8, size: size), limit: limit)
        framer.isQuoted = isQuoted
        _ = try framer.firstByte()
        return try framer.all()
    }

    @Test(arguments: [1, 2, 3, 7, 1000])
    func linesAreCountedThroughQuotesAndBlankOnes(size: Int) throws {
        let text = "\u{FEFF}a,b\r\n\n  \n1,\"x\ny\"\n2,\"\"\"\"\n3,\"\n\n\",\n4"
        #expect(try records(text, size: size) == ["1 a,b\r", "4 1,\"x\ny\"", "6 2,\"\"\"\"", "7 3,\"\n\n\",", "10 4"])
        #expect(try records("{\"a\"\n\"\n", isQuoted: false, size: size) == ["1 {\"a\"", "2 \""])
        #expect(try records("", size: size) == [])
        #expect(try records("\n\r\n ", size: size) == [])
        #expect(try records("a", size: size) == ["1 a"])
    }

    @Test(arguments: [1, 5, 1000])
    func aQuoteThatIsNeverClosedCostsItsLineAlone(size: Int) throws {
        #expect(try records("a\nb,\"c\nd\ne\n", size: size) == ["1 a", "2 unclosed", "3 d", "4 e"])
        #expect(try records("a,\"", size: size) == ["1 unclosed"])
        let long = (1...20).map { "line \($0)" }.joined(separator: "\n")
        let found = try records("\"" + long, size: size)
        #expect(found.first == "1 unclosed")
        #expect(found.dropFirst() == (2...20).map { "\($0) line \($0)" }[...])
    }

    @Test(arguments: [1, 16, 1000])
    func aLineBeyondTheLimitIsSkipped(size: Int) throws {
        let long = String(repeating: "x", count: 41)
        #expect(try records("a\n\(long)\nb\n\(long)", size: size) == ["1 a", "2 too long", "3 b", "4 too long"])
        #expect(try records("a\n\(long.dropFirst())\nb", size: size) == ["1 a", "2 \(long.dropFirst())", "3 b"])
    }

    @Test func aRecordThatIsNoneGivesItsOtherLinesBack() throws {
        var framer = RecordFramer(PiecewiseSource("1\"\n2\n3\"\n4\n".utf8), limit: 100)
        framer.isQuoted = true
        let joined = try #require(try framer.next())
        #expect(joined.line == 1)
        framer.giveUpAllButFirstLine(of: joined)
        #expect(try framer.all() == ["2 2", "3 unclosed", "4 4"])
    }

    @Test func thePositionCountsEveryByteOnce() throws {
        let text = String(repeating: "abcdefghi\n", count: 100_000)
        var framer = RecordFramer(PiecewiseSource(text.utf8, size: 65_536), limit: 100)
        _ = try framer.firstByte()
        _ = try framer.next()
        #expect(framer.position == 10)
        #expect(try framer.all().count == 99_999)
        #expect(framer.position == 1_000_000)
    }

    @Test func theFirstByteTellsTheFormat() throws {
        var framer = RecordFramer(PiecewiseSource("\u{FEFF} \n {\"a\": 1}".utf8, size: 1), limit: 100)
        #expect(try framer.firstByte() == UInt8(ascii: "{"))
        #expect(ImportFormat(file: "-", firstByte: UInt8(ascii: "{")) == .jsonl)
        #expect(ImportFormat(file: "-", firstByte: UInt8(ascii: "b")) == .csv)
        #expect(ImportFormat(file: "x.CSV", firstByte: UInt8(ascii: "{")) == .csv)
        #expect(ImportFormat(file: "x.ndjson", firstByte: nil) == .jsonl)
    }
}
