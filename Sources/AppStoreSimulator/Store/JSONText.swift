import Foundation

/// JSON, written field by field in Apple's order; `JSONEncoder` takes ten times as long.
package struct JSONText {
    package private(set) var bytes: [UInt8] = []

    package init(capacity: Int = 0) {
        bytes.reserveCapacity(capacity)
    }

    /// Adds an object: the whole text, an element, or the field with that name.
    package mutating func object(_ name: String? = nil, _ write: (inout JSONText) -> Void) {
        begin(name)
        bytes.append(UInt8(ascii: "{"))
        write(&self)
        bytes.append(UInt8(ascii: "}"))
    }

    mutating func array(_ name: String, _ write: (inout JSONText) -> Void) {
        begin(name)
        bytes.append(UInt8(ascii: "["))
        write(&self)
        bytes.append(UInt8(ascii: "]"))
    }

    /// Adds a text as an element of an array.
    mutating func string(_ text: String) {
        begin(nil)
        append(quoted: text)
    }

    /// Adds a field that is a text.
    package mutating func field(_ name: String, _ text: String) {
        begin(name)
        append(quoted: text)
    }

    mutating func field(_ name: String, number: Int64) {
        begin(name)
        bytes.append(contentsOf: String(number).utf8)
    }

    mutating func field(_ name: String, bool: Bool) {
        begin(name)
        bytes.append(contentsOf: (bool ? "true" : "false").utf8)
    }

    /// Adds the three fields in which Apple writes a moment; numbers are strings.
    mutating func date(_ name: String, _ date: Date) {
        text(name, date, in: .gmt)
        field(name + "_ms", String(date.unixMilliseconds))
        text(name + "_pst", date, in: .pacific)
    }

    /// Adds a moment in Apple's form for people.
    mutating func text(_ name: String, _ date: Date, in zone: StoreDate.Zone) {
        begin(name)
        bytes.append(UInt8(ascii: "\""))
        StoreDate(date).append(in: zone, to: &bytes)
        bytes.append(UInt8(ascii: "\""))
    }

    private mutating func begin(_ name: String?) {
        if let last = bytes.last, last != UInt8(ascii: "{"), last != UInt8(ascii: "[") {
            bytes.append(UInt8(ascii: ","))
        }
        guard let name else { return }
        append(quoted: name)
        bytes.append(UInt8(ascii: ":"))
    }

    private mutating func append(quoted text: String) {
        bytes.append(UInt8(ascii: "\""))
        defer { bytes.append(UInt8(ascii: "\"")) }
        let isPlain = text.utf8.allSatisfy { $0 >= 0x20 && $0 != UInt8(ascii: "\"") && $0 != UInt8(ascii: "\\") }
        guard !isPlain else { return bytes.append(contentsOf: text.utf8) }
        for byte in text.utf8 {
            switch byte {
            case UInt8(ascii: "\""), UInt8(ascii: "\\"): bytes.append(contentsOf: [UInt8(ascii: "\\"), byte])
            case 0..<0x20: bytes.append(contentsOf: String(format: "\\u%04x", byte).utf8)
            default: bytes.append(byte)
            }
        }
    }
}
