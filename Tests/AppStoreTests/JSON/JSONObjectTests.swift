import Foundation
import Testing

@testable import AppStore

@Suite struct JSONObjectTests {
    private func object(_ json: String) throws -> JSONObject { try #require(JSONObject(Array(json.utf8))) }

    @Test(arguments: [
        ("180000123456789012", "180000123456789012"), ("18446744073709551617", "18446744073709551617"),
        ("1234567890123456789012345678901234567890123456789", "1234567890123456789012345678901234567890123456789"),
        ("-5", "-5"), ("-0", "0"), ("-0.0", "0"), ("1.0", "1"), ("21003.00", "21003"), ("0.10", "0.1"), ("1e3", "1000"),
        ("1E-5", "0.00001"), ("1e400", nil),
    ])
    func readsANumberAsItsDigits(number: String, text: String?) throws {
        let object = try object(#"{"before": 1, "a": \#(number)}"#)
        #expect(object.text("a") == text)
        #expect(object.integer("a") == text.flatMap { Int64($0) })
        #expect(object.says("a"))
    }

    @Test(arguments: [
        (#""""#, nil), (#""a""#, "a"), (#""a\u0000""#, nil), (#""\"\\\/\n""#, "\"\\/\n"), (#""\"\"""#, "\"\""),
        (#""\u0031\u00e9""#, "1é"), (#""\ud83d\ude00 é""#, "😀 é"), ("true", "true"), ("false", "false"), ("null", nil),
        ("{}", nil), (#"["a"]"#, nil),
    ])
    func readsTextAndWhatStandsForIt(value: String, text: String?) throws {
        #expect(try object(#"{"a" : \#(value), "b": "b"}"#).text("a") == text)
        #expect(try object(#"{"b":"\\","a":\#(value)}"#).text("a") == text)
    }

    @Test(arguments: [#"\ud800"#, #"\udc00"#, #"\ud83d\u0041"#, #"\ud83d\ud83d"#, #"x\ud83dx"#])
    func readsNoHalfOfASurrogatePair(half: String) throws {
        let object = try object(#"{"a": "\#(half)", "b": "b", "\#(half)": "c"}"#)
        #expect(object.text("a") == nil)
        #expect(object.says("a"))
        #expect(object.text("b") == "b")
    }

    @Test(arguments: [
        ("null", false), (#""""#, false), (#"" ""#, true), (#""\u0000""#, true), ("0", true), ("false", true),
        ("[]", true), ("{}", true),
    ])
    func tellsWhetherAFieldSaysSomething(value: String, says: Bool) throws {
        let object = try object(#"{"a": \#(value)}"#)
        #expect(object.says("a") == says)
        #expect(object.contains("a"))
        #expect(!object.contains("b") && !object.says("b"))
    }

    @Test func findsAFieldByItsWholeName() throws {
        let object = try object(
            #"""
            {"status_code": 1, "in": {"status": 2}, "of": [{"status": 3}, "status"], "x": "status", "st\u0061tus": 4}
            """#
        )
        #expect(object.integer("status") == 4)
        #expect(object.object("in")?.integer("status") == 2)
        #expect(object.text("statu") == nil)
    }

    @Test func findsAFieldBehindManyNamesWithEscapes() throws {
        let names = (0..<10_000).map { #""\u0061\#($0)": {"\u0062\n": "\u0063"}, "# }.joined()
        let object = try object(#"{\#(names)"\u0061": "\u0061", "a9": 9, "": 1}"#)
        #expect(object.text("a") == "a")
        #expect(object.integer("") == 1)
        #expect(object.object("a9999")?.text("b\n") == "c")
        #expect(object.object("a9")?.text("b\n") == "c")
        #expect(object.object("a0")?.text("b") == nil)
    }

    @Test func takesTheFirstOfFieldsWithOneName() throws {
        let object = try object(#"{"a": null, "b": "1", "b": "2", "a": "3"}"#)
        #expect(object.text("b") == "1")
        #expect(object.text("a") == nil)
    }

    @Test func takesOneObjectForAList() throws {
        let object = try object(
            """
            {"one": {"a": 1}, "list": [{"a": 1}, [{"a": 2}], 7, {"a": [{}], "b": 3}],
             "none": [], "no": "x", "null": null}
            """
        )
        #expect(object.listOrOne("one")?.map { $0?.integer("a") } == [1])
        let list = try #require(object.listOrOne("list"))
        #expect(list.map { $0 == nil } == [false, true, true, false])
        #expect(list.last??.integer("b") == 3)
        #expect(object.listOrOne("none")?.isEmpty == true)
        for name: StaticString in ["no", "null", "absent"] { #expect(object.listOrOne(name) == nil) }
    }

    @Test func readsTheFirstDateThatIsOne() throws {
        let object = try object(
            #"{"ms": 1700000000123, "at": "2023-11-14 22:13:21 Etc/GMT", "soon": "soon", "n": null}"#)
        #expect(object.date("n", "soon", "ms", "at") == Date(timeIntervalSince1970: 1_700_000_000.123))
        #expect(object.date("soon", "at") == Date(timeIntervalSince1970: 1_700_000_001))
        #expect(object.date("soon", "n", "absent") == nil)
    }

    @Test(arguments: [
        "", " ", "null", "1", #""a""#, "[]", "[{}]", "{", "{}}", "{}x", "{}1", "{}tru", #"{}""#, #"{}"}"#, "{} {}",
        "{}\0", #"{"a":1"#,
        #"{"a":tru"#, #"{"a":1,}"#, #"{"a" 1}"#, #"{a:1}"#, #"{'a':1}"#, #"{"a":01}"#, #"{"a":1.}"#, #"{"a":-}"#,
        #"{"a":NaN}"#, #"{"a":"\x"}"#, #"{"a":"\u12"}"#, "{\"a\":\"\n\"}", "/**/{}", "{} //", #"{"a":[}"#, #"{"a":{]}"#,
        "\u{FEFF}{}",
    ])
    func refusesWhatIsNoObject(json: String) {
        #expect(JSONObject(Array(json.utf8)) == nil)
    }

    @Test(
        arguments: [[0xFF], [0xC3], [0xC0, 0x80], [0xED, 0xA0, 0x80], [0xF4, 0x90, 0x80, 0x80], [0x80]] as [[UInt8]])
    func refusesWhatIsNoUTF8(bytes: [UInt8]) {
        for place in [#"{"a":"b§"}"#, #"{"a§":"b"}"#, #"{"a":"\\§"}"#] {
            let parts = place.split(separator: "§").map { Array($0.utf8) }
            #expect(JSONObject(parts[0] + Array("é".utf8) + parts[1]) != nil)
            #expect(JSONObject(parts[0] + bytes + parts[1]) == nil)
        }
    }

    @Test func boundsTheDepth() throws {
        func nested(_ depth: Int) -> String {
            #"{"a":\#(String(repeating: "[", count: depth - 1))\#(String(repeating: "]", count: depth - 1)),"b":1}"#
        }
        #expect(try object(nested(512)).integer("b") == 1)
        #expect(JSONObject(Array(nested(513).utf8)) == nil)
        for opening in ["[", #"{"a":"#, #"{"a":["#] {
            let endless = String(repeating: opening, count: 1_000_000)
            #expect(JSONObject(Array(endless.utf8)) == nil)
            #expect(JSONObject(Array((#"{"a":"# + endless).utf8)) == nil)
        }
    }
}
