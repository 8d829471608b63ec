import Foundation

extension LineFields {
    /// The receipt; empty if the line has none.
    ///
    /// PostgreSQL writes a bytea as `\x` and hexadecimal digits. Bytes that are text are taken as that text, and others
    /// in base64, as clients upload them: the same receipt is one, however it was kept.
    func payload() -> String {
        guard let text = self[.payload] else { return "" }
        guard let bytes = Self.bytes(ofBytea: text) else { return text }
        if !bytes.contains(0), let kept = String(validating: bytes, as: UTF8.self) { return kept }
        return Data(bytes).base64EncodedString()
    }

    /// The bytes of a bytea as PostgreSQL writes it; `nil` if the text is none.
    private static func bytes(ofBytea text: String) -> [UInt8]? {
        let digits = text.utf8.dropFirst(2)
        guard text.utf8.starts(with: #"\x"#.utf8), digits.count.isMultiple(of: 2) else { return nil }
        var bytes: [UInt8] = []
        bytes.reserveCapacity(digits.count / 2)
        var first: UInt8?
        for digit in digits {
            guard let half = hexValue(of: digit) else { return nil }
            if let high = first {
                bytes.append(high << 4 | half)
                first = nil
            } else {
                first = half
            }
        }
        return bytes
    }

    private static func hexValue(of digit: UInt8) -> UInt8? {
        switch digit {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): digit - UInt8(ascii: "0")
        case UInt8(ascii: "a")...UInt8(ascii: "f"): digit - UInt8(ascii: "a") + 10
        case UInt8(ascii: "A")...UInt8(ascii: "F"): digit - UInt8(ascii: "A") + 10
        default: nil
        }
    }
}
