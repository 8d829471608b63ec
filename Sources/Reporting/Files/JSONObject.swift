import Foundation
import Reconciliation

/// A JSON object, written member by member in the order of their names: a night may have a hundred thousand cases, for
/// which a general encoder would take half of the report's time. `nil` members are left out.
struct JSONObject {
    private var bytes = [UInt8(ascii: "{")]

    var text: String { String(decoding: bytes, as: UTF8.self) + "}" }

    mutating func add(_ name: StaticString, _ value: String?) {
        guard let value else { return }
        begin(name)
        append(value)
    }

    mutating func add(_ name: StaticString, _ value: Int64?) {
        guard let value else { return }
        begin(name)
        append(json: String(value))
    }

    mutating func add(_ name: StaticString, _ value: Int) { add(name, Int64(value)) }

    mutating func add(_ name: StaticString, _ value: Bool) {
        begin(name)
        append(json: value ? "true" : "false")
    }

    mutating func add(_ name: StaticString, _ value: Date?) {
        guard let value else { return }
        begin(name)
        append(json: "\"\(value.inMilliseconds)\"")
    }

    mutating func add(_ name: StaticString, _ values: [String]) {
        list(name, values) { $0.append($1) }
    }

    mutating func add(_ name: StaticString, _ values: [Int]) {
        list(name, values) { $0.append(json: String($1)) }
    }

    mutating func add(_ name: StaticString, _ value: JSONObject?) {
        guard let value else { return }
        begin(name)
        append(value)
    }

    mutating func add<Value>(_ name: StaticString, each values: [Value], _ object: (Value) -> JSONObject) {
        list(name, values) { $0.append(object($1)) }
    }

    private mutating func list<Value>(
        _ name: StaticString, _ values: [Value], _ append: (inout JSONObject, Value) -> Void
    ) {
        begin(name)
        bytes.append(UInt8(ascii: "["))
        for (index, value) in values.enumerated() {
            if index > 0 { bytes.append(UInt8(ascii: ",")) }
            append(&self, value)
        }
        bytes.append(UInt8(ascii: "]"))
    }

    private mutating func begin(_ name: StaticString) {
        if bytes.count > 1 { bytes.append(UInt8(ascii: ",")) }
        bytes.append(UInt8(ascii: "\""))
        name.withUTF8Buffer { bytes.append(contentsOf: $0) }
        bytes.append(contentsOf: [UInt8(ascii: "\""), UInt8(ascii: ":")])
    }

    private mutating func append(json: String) { bytes.append(contentsOf: json.utf8) }

    private mutating func append(_ object: JSONObject) {
        bytes.append(contentsOf: object.bytes)
        bytes.append(UInt8(ascii: "}"))
    }

    private mutating func append(_ value: String) {
        guard value.utf8.allSatisfy(Self.isPlain) else { return append(json: Self.quoted(value)) }
        bytes.append(UInt8(ascii: "\""))
        bytes.append(contentsOf: value.utf8)
        bytes.append(UInt8(ascii: "\""))
    }

    /// Whether a byte of a text needs no escape in JSON and on a terminal.
    private static func isPlain(_ byte: UInt8) -> Bool {
        (0x20...0x7E).contains(byte) && byte != UInt8(ascii: "\"") && byte != UInt8(ascii: "\\")
    }

    private static func quoted(_ value: String) -> String {
        // A text can always be JSON; if it could not, it would be left out rather than end the report.
        Printable.json((try? String(json: value)) ?? "null")
    }
}
