import Foundation

/// The bytes of an app receipt in canonical base64, for a look that takes a fraction of what reading them does. Nothing
/// of them is verified.
package struct PlainAppReceipt: Sendable {
    private let bytes: Data

    /// `nil` if the text is none.
    package init?(_ text: String) {
        guard ReceiptText.isPlainAppReceipt(text), let bytes = Data(base64Encoded: text) else { return nil }
        self.bytes = bytes
    }

    /// Whether one of these texts stands in it, anywhere.
    package func holdsAny(of texts: some Sequence<String>) -> Bool {
        bytes.withUnsafeBytes { bytes in
            texts.contains { text in
                Self.places(of: Array(text.utf8), in: bytes, atMost: 1) == 1
            }
        }
    }

    /// About how many purchases it holds: each has one entry with its id.
    package var purchases: Int {
        bytes.withUnsafeBytes { Self.places(of: Self.idEntry, in: $0, atMost: .max) }
    }

    /// The number of such an entry, 1703, as an INTEGER of ASN.1.
    private static let idEntry: [UInt8] = [0x02, 0x02, 0x06, 0xA7]

    private static func places(of text: [UInt8], in bytes: UnsafeRawBufferPointer, atMost most: Int) -> Int {
        guard let last = text.last, let start = bytes.baseAddress, bytes.count >= text.count else { return 0 }
        let end = start + bytes.count
        var places = 0
        // The last byte: of the number of an entry it is the rarest.
        var next = start + text.count - 1
        while places < most, next < end, let found = memchr(next, Int32(last), end - next) {
            let found = UnsafeRawPointer(found)
            if memcmp(found - (text.count - 1), text, text.count) == 0 { places += 1 }
            next = found + 1
        }
        return places
    }
}
