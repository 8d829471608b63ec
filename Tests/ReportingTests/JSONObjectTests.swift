import Foundation
import Reconciliation
import Testing

@testable import Reporting

@Suite struct JSONObjectTests {
    private struct Values: Codable, Equatable {
        var big: Int64
        var isNew: Bool
        var list: [String]
        var nothing: String?
        var seenAt: Date
        var text: String
    }

    /// What clients may have sent: quotes, breaks, what reorders a line, what is no character of a terminal.
    @Test(arguments: [
        "", "plain", "\"\\/", "\u{0}\u{1}\n\r\t\u{8}\u{C}\u{1F}\u{7F}", "漏单 é \u{1F600}", "\u{202E}\u{2066}x",
        "\u{2028}\u{2029}\u{FEFF}\u{9B}", "</script>", "e\u{301}", "\u{E0001}",
    ])
    func isWhatTheEncoderWrites(text: String) throws {
        let values = Values(
            big: .max, isNew: true, list: [text, "b"], nothing: nil, seenAt: Date(timeIntervalSince1970: 1.5),
            text: text)
        var object = JSONObject()
        object.add("big", values.big)
        object.add("is_new", values.isNew)
        object.add("list", values.list)
        object.add("nothing", values.nothing)
        object.add("seen_at", values.seenAt)
        object.add("text", values.text)
        #expect(object.text == Printable.json(try String(json: values)))
    }

    @Test func holdsObjectsAndListsOfThem() {
        var inner = JSONObject()
        inner.add("n", [1, -2])
        var object = JSONObject()
        object.add("empty", [String]())
        object.add("inner", inner)
        object.add("inners", each: [1, 2]) { number in
            var each = JSONObject()
            each.add("n", number)
            return each
        }
        object.add("none", JSONObject?.none)
        #expect(object.text == #"{"empty":[],"inner":{"n":[1,-2]},"inners":[{"n":1},{"n":2}]}"#)
        #expect(JSONObject().text == "{}")
    }
}
