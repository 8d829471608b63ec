import Foundation
import Reconciliation
import TestSupport
import Testing

@testable import Importing

/// What is read from a report's list, as spreadsheets save it.
@Suite struct DecisionSheetTests {
    private let mark = DecisionFiles.mark()
    private let other = DecisionFiles.mark("1000000002")

    @Test(arguments: [",", ";", "\t"], ["", "\u{FEFF}"])
    func aListIsReadAsCountriesSaveIt(separator: String, byteOrderMark: String) throws {
        let lines = [
            ["case", "transaction_id", "decision", "note"],
            [mark, "'1000000001", "delivered", "\"by mail, twice; yes\""],
            [other, "1000000002", " Dismissed ", ""], [DecisionFiles.mark("1000000003"), "1000000003", "", ""],
        ]
        let text = byteOrderMark + lines.map { $0.joined(separator: separator) }.joined(separator: "\r\n")
        #expect(
            try DecisionFiles.read(text.utf8) == [
                "2 1000000001 delivered by mail, twice; yes", "3 1000000002 dismissed",
            ])
    }

    @Test func chineseHeadingsAndWordsAreKnown() throws {
        let text = "交易,漏单编号,处理结果,备注\n1000000001,\(mark),已发货,客服手工补发\n1000000002,\(other),已退款,\n"
        #expect(
            try DecisionFiles.read(text.utf8) == [
                "2 1000000001 delivered 客服手工补发", "3 1000000002 refunded",
            ])
    }

    @Test(arguments: [
        ("=\"delivered\"", "", "formula"), ("delivered", "=HYPERLINK(\"\"x\"\")", "formula"),
        ("deliver it", "", "unknown_word"), ("", "who was that?", "no_decision"),
        ("delivered", String(repeating: "x", count: 10_001), "too_long"),
    ])
    func aLineIsRefused(decision: String, note: String, why: String) throws {
        let quoted = [mark, decision.replacing("\"", with: "\"\""), note].map { "\"\($0)\"" }.joined(separator: ",")
        let text = "case,decision,note\n\(quoted)\n\(other),refunded,\n"
        #expect(try DecisionFiles.read(text.utf8) == ["2 \(why)", "3 1000000002 refunded"])
    }

    @Test func aLineOfNoCaseIsRefused() throws {
        let lines = [
            "", "a case", mark + " ", "com.example.game Production 1", "com.example.game Test 1 01234567-89abcdef",
        ]
        let text = "case,decision\n" + lines.map { "\($0),delivered\n" }.joined()
        #expect(
            try DecisionFiles.read(text.utf8) == [
                "2 no_case", "3 no_case", "4 1000000001 delivered", "5 no_case", "6 no_case",
            ])
    }

    @Test func columnsThatWereSortedApartAreNoticed() throws {
        let text = "transaction_id,case,decision\n1000000002,\(mark),delivered\n1.00E+09,\(other),delivered\n"
        #expect(try DecisionFiles.read(text.utf8) == ["2 other_transaction", "3 other_transaction"])
    }

    @Test func linesThatContradictEachOtherAreAllRefused() throws {
        let text = """
            case,decision
            \(mark),delivered
            \(other),dismissed
            \(mark),refunded
            \(other),dismissed

            """
        #expect(
            try DecisionFiles.read(text.utf8) == [
                "2 contradiction", "3 1000000002 dismissed", "4 contradiction", "5 1000000002 dismissed",
            ])
    }

    @Test func brokenLinesCostOnlyThemselves() throws {
        let long = String(repeating: "x", count: 2 << 20)
        let text = "case,decision,note\n\(mark),delivered,\"open\n\(other),refunded,\n\(mark),delivered,\(long)\n"
        #expect(try DecisionFiles.read(text.utf8) == ["2 malformed", "3 1000000002 refunded", "4 too_long"])
    }

    @Test func aNoteOfSeveralLinesIsOne() throws {
        let text = "case,decision,note\n\(mark),delivered,\"by mail,\n\ntwice\"\n\(other),refunded,\n"
        #expect(
            try DecisionFiles.read(text.utf8) == [
                "2 1000000001 delivered by mail,\n\ntwice", "5 1000000002 refunded",
            ])
    }

    /// Two inches are no quote around the lines between them.
    @Test func wrongQuotesCostTheirOwnLinesAlone() throws {
        let text = """
            case,decision,note
            \(mark),delivered,the 5" one
            \(other),refunded,
            \(DecisionFiles.mark("1000000003")),delivered,the 6" one
            """
        #expect(try DecisionFiles.read(text.utf8) == ["2 malformed", "3 1000000002 refunded", "4 malformed"])
    }

    /// What was delivered by hand must not be ordered for delivery, for two letters that are missing.
    @Test func aLastLineThatWasCutIsRefused() throws {
        let text = "case,decision,note\n\(other),refunded\n\(mark),deliver"
        #expect(try DecisionFiles.read(text.utf8) == ["2 1000000002 refunded", "3 malformed"])
        #expect(
            try DecisionFiles.read((text + "ed,").utf8) == ["2 1000000002 refunded", "3 1000000001 delivered"])
    }

    /// Nothing behind its last cell shows whether the word is whole.
    @Test(arguments: ["deliver", "delivered"])
    func aLastDecisionThatNothingEndsIsRefused(word: String) throws {
        let text = "case,decision\n\(other),refunded\n\(mark),\(word)"
        #expect(try DecisionFiles.read(text.utf8) == ["2 1000000002 refunded", "3 malformed"])
        for end in ["\n", "\r\n"] {
            #expect(try DecisionFiles.read((text + end).utf8) == ["2 1000000002 refunded", "3 1000000001 \(word)"])
        }
    }

    /// As editors write it, of a report whose last column is another.
    @Test func aLastLineMayEndWithoutALineBreak() throws {
        for text in [
            "case,decision,note\n\(mark),delivered,by mail", "note,decision,case\nby mail,delivered,\(mark)",
            "case,decision,note,transaction_id\n\(mark),delivered,by mail,1000000001",
        ] {
            #expect(try DecisionFiles.read(text.utf8) == ["2 1000000001 delivered by mail"])
        }
        let cut = "note,decision,case\nby mail,delivered,\(mark.dropLast())"
        #expect(try DecisionFiles.read(cut.utf8) == ["2 no_case"])
    }

    @Test func linesThatEndWithCRAloneAreRefusedClearly() throws {
        let error = #expect(throws: DecisionFileError.self) {
            try DecisionFiles.read("case,decision\r\(mark),delivered\r".utf8)
        }
        #expect(
            error?.description
                == "list.csv can't be read: its lines end with CR alone; save it as CSV UTF-8, or as .xlsx")
    }

    @Test func gbkIsRefusedClearly() throws {
        // “已发货” as GBK writes it.
        let word: [UInt8] = [0xD2, 0xD1, 0xB7, 0xA2, 0xBB, 0xF5]
        let body = Array("case,decision\n\(mark),".utf8) + word + Array("\n\(other),refunded\n".utf8)
        #expect(try DecisionFiles.read(body) == ["2 not_text", "3 1000000002 refunded"])
        let error = #expect(throws: DecisionFileError.self) {
            try DecisionFiles.read(word + Array(",\(mark)\n".utf8))
        }
        #expect(error?.description.contains("GBK") == true)
    }

    @Test(arguments: [
        ("", "columns “case” and “decision”"), ("a,b\n1,2\n", "columns “case” and “decision”"),
        ("case\nx\n", "column “decision”"), ("decision,note\ndelivered,\n", "column “case”"),
    ])
    func whatIsNoReportIsSaid(text: String, lacking: String) throws {
        let error = #expect(throws: DecisionFileError.self) { try DecisionFiles.read(text.utf8) }
        #expect(
            error?.description
                == "list.csv is no report's list of cases: its first line, or its first sheet's, lacks the \(lacking)")
    }

    /// Of two columns, one would be read and the other dropped without a word.
    @Test(arguments: ["case,decision,note,Decision", "case,decision,note,处理结果"])
    func columnsThatAreThereTwiceAreRefused(header: String) throws {
        let error = #expect(throws: DecisionFileError.self) {
            try DecisionFiles.read("\(header)\n\(DecisionFiles.mark()),,,delivered\n".utf8)
        }
        #expect(
            error?.description == "list.csv has the column “decision” more than once; keep the report's own")
    }

    /// Whose file it is was looked at before.
    @Test func whatTakesTheNameOfAnOpenedFileIsNotRead() async throws {
        try await withFolder { folder in
            let (file, others) = (folder.appending(path: "list.csv"), folder.appending(path: "others.csv"))
            let path = file.path(percentEncoded: false)
            try Data("case,decision\n\(mark),delivered\n".utf8).write(to: file)
            try Data("case,decision\n\(mark),dismissed\n".utf8).write(to: others)
            let opened = try DecisionFile(path, followsLinks: false)
            #expect(rename(others.path(percentEncoded: false), path) == 0)
            let lines = try await DecisionSheet.read(opened, DecisionFiles.vocabulary) { false }.lines.map(\.text)
            #expect(lines == ["2 1000000001 delivered"])

            try FileManager.default.createSymbolicLink(at: others, withDestinationURL: file)
            #expect(throws: DecisionFileError.self) {
                try DecisionFile(others.path(percentEncoded: false), followsLinks: false)
            }
        }
    }
}
