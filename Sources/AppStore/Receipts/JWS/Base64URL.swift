import Foundation

/// Base64 with the alphabet of URLs and without padding (RFC 7515, section 2), read strictly: each sequence of bytes
/// has exactly one text, so that no second text passes for a signed one.
enum Base64URL {
    private static let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_".utf8)
    private static let noDigit: UInt8 = 0xFF
    /// The value of each character.
    private static let values: [UInt8] = {
        var values = [UInt8](repeating: noDigit, count: 256)
        for (value, character) in alphabet.enumerated() { values[Int(character)] = UInt8(value) }
        return values
    }()

    /// The bytes that the text encodes; `nil` if a character is not in the alphabet, if the length is impossible, or if
    /// bits are set that belong to no byte.
    static func decode(_ text: Slice<UnsafeBufferPointer<UInt8>>) -> [UInt8]? {
        guard text.count % 4 != 1 else { return nil }
        var isText = true
        let bytes = [UInt8](unsafeUninitializedCapacity: text.count * 3 / 4) { bytes, filled in
            isText = values.withUnsafeBufferPointer {
                decode(UnsafeBufferPointer(rebasing: text), by: $0, into: bytes, &filled)
            }
        }
        return isText ? bytes : nil
    }

    private static func decode(
        _ text: UnsafeBufferPointer<UInt8>, by values: UnsafeBufferPointer<UInt8>,
        into bytes: UnsafeMutableBufferPointer<UInt8>, _ filled: inout Int
    ) -> Bool {
        var bits: UInt32 = 0
        var count: UInt32 = 0
        for character in text {
            let value = values[Int(character)]
            guard value != noDigit else { return false }
            bits = bits << 6 | UInt32(value)
            count += 6
            if count >= 8 {
                count -= 8
                bytes[filled] = UInt8(truncatingIfNeeded: bits >> count)
                filled += 1
            }
        }
        return bits & (1 << count - 1) == 0
    }

    static func encode(_ bytes: some Sequence<UInt8>) -> String {
        var text: [UInt8] = []
        var bits: UInt32 = 0
        var count = 0
        for byte in bytes {
            bits = bits << 8 | UInt32(byte)
            count += 8
            while count >= 6 {
                count -= 6
                text.append(alphabet[Int(bits >> UInt32(count)) & 63])
            }
        }
        if count > 0 { text.append(alphabet[Int(bits << UInt32(6 - count)) & 63]) }
        return String(decoding: text, as: UTF8.self)
    }
}
