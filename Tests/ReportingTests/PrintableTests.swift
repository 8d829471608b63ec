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

    /// The closing mark would end the isolate of the element that the text stands in, and an open one would keep it open.
    @Test(arguments: ["\u{202E}a\u{2066}b", "a\u{2069}\u{202E}b", "\u{2067}", "\u{202A}\u{202B}\u{202C}\u{202D}"])
    func nothingReordersWhatStandsAroundAClientsText(text: String) {
        let shown = HTML.foreign(text).text.unicodeScalars
        #expect(!shown.contains(where: Printable.isReordering))
        #expect(shown.count == text.unicodeScalars.count + "<bdi></bdi>".count)
        // What Arabic and Hebrew need stays.
        #expect(HTML.foreign(HostileText.mark.text).text == "<bdi>\(HostileText.mark.text)</bdi>")
    }

    @Test func linesKeepTheirBreaksAlone() {
        #expect(Printable.lines("a\r\nb\u{1B}\n") == "a\u{FFFD}\nb\u{FFFD}\n")
    }
}
