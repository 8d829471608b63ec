import Foundation
import TestSupport
import Testing

@testable import AppStore

@Suite struct AlteredObjectsTests {
    private static let original = #"""
        {"a": "text", "b" : 180000123456789012, "c":"é \ud83d\ude00 \"quoted\"", "d": true, "e": null, "f": 1.50,
         "g": {"a": "1", "b": [1, {"a": {}}, "2"]}, "h": [], "a": "again", "\u0069": "\u0031"}
        """#
    private static let names: [StaticString] = ["a", "b", "c", "d", "e", "f", "g", "h", "i"]
    private static let scraps = [
        "null", "{}", "[1]", "-0", "1e400", "1e3", "9223372036854775808", "\"\"", "\\u0000", "\\ud800", "\\udc00", "\"",
        ",", ":", "}", "]", "\"a\":", "\"b\":\"x\",", "\u{FEFF}", "\\", "\\n", "[[[[", "{\"a\":1}", " ",
    ]

    /// What is read is what Foundation reads, which decodes the same text in another way.
    @Test func areReadAsFoundationReadsThem() throws {
        var altering = Altering(seed: 20_261_122, scraps: Self.scraps)
        var read = 0
        for _ in 0..<5_000 {
            let json = altering.alter(Array(Self.original.utf8))
            guard let object = JSONObject(json) else { continue }
            read += 1
            guard let expected = try? JSONDecoder().decode(Foundations.self, from: Data(json)) else { continue }
            for name in Self.names { try compare(object, expected, name, json) }
            guard let inner = expected.inner else { continue }
            for name in Self.names { try compare(try #require(object.object("g")), inner, name, json) }
        }
        // Otherwise the alterations would be too coarse to reach past the parser.
        #expect(read > 500)
    }

    private func compare(_ object: JSONObject, _ expected: Foundations, _ name: StaticString, _ json: [UInt8]) throws {
        let text = String(decoding: json, as: UTF8.self)
        let value = expected.values[name.description]
        #expect(object.contains(name) == (value != nil), "\(name) in \(text)")
        #expect(object.text(name) == value?.text, "\(name) in \(text)")
        #expect((object.listOrOne(name) == nil) == (value?.isScalar ?? true), "\(name) in \(text)")
    }
}

/// The members of an object as `JSONDecoder` reads them.
private struct Foundations: Decodable {
    struct Value {
        var text: String?
        var isScalar: Bool
    }

    private struct Name: CodingKey {
        let stringValue: String
        var intValue: Int? { nil }
        init(stringValue: String) { self.stringValue = stringValue }
        init?(intValue: Int) { nil }
    }

    var values: [String: Value] = [:]
    private var inners: [Foundations] = []
    var inner: Foundations? { inners.first }

    init(from decoder: any Decoder) throws {
        let members = try decoder.container(keyedBy: Name.self)
        for name in members.allKeys {
            let text =
                (try? members.decode(String.self, forKey: name))
                ?? (try? members.decode(Decimal.self, forKey: name)).map { "\($0)" }
                ?? (try? members.decode(Bool.self, forKey: name)).map { "\($0)" }
            let isScalar =
                (try? members.nestedUnkeyedContainer(forKey: name)) == nil
                && (try? members.nestedContainer(keyedBy: Name.self, forKey: name)) == nil
            let isText = text?.isEmpty == false && text?.utf8.contains(0) == false
            values[name.stringValue] = Value(text: isText ? text : nil, isScalar: isScalar)
            if name.stringValue == "g", let inner = try? members.decode(Foundations.self, forKey: name) {
                inners = [inner]
            }
        }
    }
}
