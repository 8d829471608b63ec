import Foundation

/// A question about one receipt, in the JSON that `verifyReceipt` takes.
struct VerifyReceiptQuestion: Sendable {
    let body: Data
    let hasSecret: Bool
    /// Which receipt of this run it is about.
    let number: Int

    init(receiptData: String, sharedSecret: String?, number: Int) {
        self.body = Self.body(receiptData, password: sharedSecret)
        self.hasSecret = sharedSecret != nil
        self.number = number
    }

    /// A question about no receipt, which Apple answers with 21002, data missing, whenever it is up
    /// (https://developer.apple.com/documentation/appstorereceipts/status).
    static let control = VerifyReceiptQuestion(receiptData: "", sharedSecret: nil, number: 0)

    private static func body(_ receiptData: String, password: String?) -> Data {
        var body = Data(capacity: receiptData.utf8.count + 256)
        body.append(contentsOf: #"{"receipt-data":"#.utf8)
        body.append(json: receiptData)
        if let password {
            body.append(contentsOf: #","password":"#.utf8)
            body.append(json: password)
        }
        body.append(contentsOf: #","exclude-old-transactions":false}"#.utf8)
        return body
    }
}

extension Data {
    /// Appends a JSON string. A receipt, which is in base64, is copied as it is.
    fileprivate mutating func append(json text: String) {
        var text = text
        append(UInt8(ascii: "\""))
        text.withUTF8 { bytes in
            // Without a branch many bytes are looked at at once.
            guard bytes.reduce(0, { $0 | Self.mustBeEscaped($1) }) != 0 else { return append(contentsOf: bytes) }
            var rest = bytes[...]
            while let special = rest.firstIndex(where: { Self.mustBeEscaped($0) != 0 }) {
                append(contentsOf: rest[..<special])
                append(escaped: rest[special])
                rest = rest[(special + 1)...]
            }
            append(contentsOf: rest)
        }
        append(UInt8(ascii: "\""))
    }

    /// 1 for a byte that a JSON string holds escaped alone (RFC 8259, section 7), else 0.
    private static func mustBeEscaped(_ byte: UInt8) -> UInt8 {
        let isControl: UInt8 = byte < 0x20 ? 1 : 0
        let isQuote: UInt8 = byte == UInt8(ascii: "\"") ? 1 : 0
        let isBackslash: UInt8 = byte == UInt8(ascii: "\\") ? 1 : 0
        return isControl | isQuote | isBackslash
    }

    private mutating func append(escaped byte: UInt8) {
        append(UInt8(ascii: "\\"))
        guard byte < 0x20 else { return append(byte) }
        append(contentsOf: "u00".utf8)
        append(byte < 0x10 ? UInt8(ascii: "0") : UInt8(ascii: "1"))
        append(contentsOf: String(byte & 0xF, radix: 16).utf8)
    }
}
