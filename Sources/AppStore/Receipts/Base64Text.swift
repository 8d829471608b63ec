/// Base64 as clients send it: in either alphabet, with or without padding, broken into lines or not.
enum Base64Text {
    /// The values of the usual alphabet's characters; 0xFF for any other byte.
    private static let usualValues: [UInt8] = {
        var values = [UInt8](repeating: 0xFF, count: 256)
        let alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
        for (value, character) in alphabet.utf8.enumerated() { values[Int(character)] = UInt8(value) }
        return values
    }()

    /// The values of the characters of both alphabets; 0xFF for any other byte.
    private static let values: [UInt8] = {
        var values = usualValues
        values[Int(UInt8(ascii: "-"))] = 62
        values[Int(UInt8(ascii: "_"))] = 63
        return values
    }()

    /// Whether this is the one way to write its bytes in the usual alphabet (RFC 4648, section 3.5): padded, without
    /// line breaks, and with no bit set beyond the last byte.
    static func isCanonical(_ text: UnsafeBufferPointer<UInt8>) -> Bool {
        guard text.count >= 4, text.count % 4 == 0 else { return false }
        let padding = text[text.count - 1] != UInt8(ascii: "=") ? 0 : text[text.count - 2] != UInt8(ascii: "=") ? 1 : 2
        let spelled = text.count - padding
        let usual = usualValues
        let unused: UInt8 = [0, 0b11, 0b1111][padding]
        guard usual[Int(text[spelled - 1])] & unused == 0 else { return false }
        return text[..<spelled].reduce(0) { $0 | isForeign($1) } == 0
    }

    /// 1 for a byte that the usual alphabet does not have, else 0. Without a branch, so that the compiler looks at many
    /// bytes at a time: to stop at the first took ten times as long for a receipt, which has none.
    private static func isForeign(_ byte: UInt8) -> UInt8 {
        let isNoLetter: UInt8 = (byte | 0x20) &- UInt8(ascii: "a") < 26 ? 0 : 1
        let isNoDigit: UInt8 = byte &- UInt8(ascii: "0") < 10 ? 0 : 1
        let isNoPlus: UInt8 = byte == UInt8(ascii: "+") ? 0 : 1
        let isNoSlash: UInt8 = byte == UInt8(ascii: "/") ? 0 : 1
        return isNoLetter & isNoDigit & isNoPlus & isNoSlash
    }

    /// Whether it is a letter or digit, which both alphabets have.
    static func isAlphanumeric(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "a")...UInt8(ascii: "z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"):
            true
        default: false
        }
    }

    /// - Throws: `notBase64` with the first byte that is not base64. Blanks alone are not skipped: they remain of a `+`
    ///   that was decoded once too often.
    static func decoded(_ text: [UInt8]) throws(ReceiptError) -> [UInt8] {
        var decoded: [UInt8] = []
        decoded.reserveCapacity(text.count / 4 * 3 + 3)
        var bits: UInt32 = 0
        var count = 0
        var position = appendGroups(of: text, from: 0, to: &decoded)
        while position < text.count {
            let value = values[Int(text[position])]
            if value == 0xFF {
                position = try skippedLineBreak(text, at: position)
                if position < text.count, text[position] == UInt8(ascii: "=") { break }
                if count % 4 == 0 { position = appendGroups(of: text, from: position, to: &decoded) }
                continue
            }
            bits = bits << 6 | UInt32(value)
            count += 1
            if count % 4 == 0 {
                decoded.append(UInt8(truncatingIfNeeded: bits >> 16))
                decoded.append(UInt8(truncatingIfNeeded: bits >> 8))
                decoded.append(UInt8(truncatingIfNeeded: bits))
            }
            position += 1
        }
        try endPadding(text, at: position)
        try appendRest(of: bits, count: count % 4, to: &decoded, end: position)
        return decoded
    }

    /// Appends what full groups of four characters encode, up to anything else; returns the position after them.
    private static func appendGroups(of text: [UInt8], from start: Int, to decoded: inout [UInt8]) -> Int {
        let values = values
        var position = start
        while position + 4 <= text.count {
            let (first, second) = (values[Int(text[position])], values[Int(text[position + 1])])
            let (third, fourth) = (values[Int(text[position + 2])], values[Int(text[position + 3])])
            guard first | second | third | fourth != 0xFF else { break }
            decoded.append(first << 2 | second >> 4)
            decoded.append(second << 4 | third >> 2)
            decoded.append(third << 6 | fourth)
            position += 4
        }
        return position
    }

    /// The position after white space that holds a line break, or the same position if padding is there.
    private static func skippedLineBreak(_ text: [UInt8], at start: Int) throws(ReceiptError) -> Int {
        if text[start] == UInt8(ascii: "=") { return start }
        let end = text[start...].firstIndex { !isSpace($0) } ?? text.count
        guard text[start..<end].contains(where: isLineBreak) else { throw .notBase64(position: start) }
        return end
    }

    private static func endPadding(_ text: [UInt8], at start: Int) throws(ReceiptError) {
        var padding = 0
        for position in start..<text.count where !isSpace(text[position]) {
            padding += 1
            guard text[position] == UInt8(ascii: "="), padding <= 2 else { throw .notBase64(position: position) }
        }
    }

    private static func appendRest(
        of bits: UInt32, count: Int, to decoded: inout [UInt8], end: Int
    ) throws(ReceiptError) {
        switch count {
        case 0: break
        case 2: decoded.append(UInt8(truncatingIfNeeded: bits >> 4))
        case 3:
            decoded.append(UInt8(truncatingIfNeeded: bits >> 10))
            decoded.append(UInt8(truncatingIfNeeded: bits >> 2))
        default: throw .notBase64(position: end)
        }
    }

    private static func isLineBreak(_ byte: UInt8) -> Bool {
        byte == UInt8(ascii: "\n") || byte == UInt8(ascii: "\r")
    }

    static func isSpace(_ byte: UInt8) -> Bool {
        isLineBreak(byte) || byte == UInt8(ascii: " ") || byte == UInt8(ascii: "\t")
    }
}
