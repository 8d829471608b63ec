import Foundation
import TestSupport
import Testing

@testable import Reporting

@Suite struct PrintableTests {
    @Test(arguments: HostileText.allCases)
    func nothingLiveIsLeftInALine(text: HostileText) {
        #expect(HostileText.live(in: Printable.text(text.text)) == [])
        #expect(!Printable.line(text.text).contains { $0.isNewline })
        #expect(Printable.text(text.text).unicodeScalars.count <= 80)
    }

    @Test(arguments: HostileText.allCases)
    func jsonHidesWhatIsLiveAndMeansTheSame(text: HostileText) throws {
        let json = Printable.json(String(decoding: try JSONEncoder().encode([text.text]), as: UTF8.self))
        #expect(HostileText.live(in: json) == [])
        let read = try JSONDecoder().decode([String].self, from: Data(json.utf8))
        #expect(read.map { Array($0.unicodeScalars) } == [Array(text.text.unicodeScalars)])
    }

    /// One character with a thousand marks is not one character wide.
    @Test func aTextIsCutByItsScalars() {
        #expect(Printable.cut(HostileText.marks.text, to: 300, ending: "…").unicodeScalars.count == 301)
        #expect(Printable.cut("界界", to: 2) == "界界")
        #expect(Printable.cut("", to: 2) == "")
        #expect(Device.text("[\(HostileText.marks.text)").unicodeScalars.count == 300)
    }

    @Test func linesKeepTheirBreaksAlone() {
        #expect(Printable.lines("a\r\nb\u{1B}\n") == "a\u{FFFD}\nb\u{FFFD}\n")
    }
}
