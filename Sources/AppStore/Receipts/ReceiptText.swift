import Foundation

/// A proof as a client uploaded it, with its wrapping removed and its form recognised.
public enum ReceiptText: Sendable, Hashable {
    /// A PKCS#7 container.
    case appReceipt([UInt8])
    /// The property list of an iOS 6 style receipt.
    case transactionReceipt([UInt8])
    /// A compact JWS: a signed transaction, renewal info, app transaction, or notification.
    case signed(String)
    /// The JSON that `verifyReceipt` answers with.
    case verifyReceiptAnswer([UInt8])

    /// Many times the largest receipt known.
    public static let sizeLimit = 16 << 20
    /// How many layers of quotes, objects and base64 are removed.
    private static let layerLimit = 6

    /// Recognises binary receipts, base64 in either alphabet with or without padding and line breaks, JWS, and JSON.
    /// Each may be in quotes, in a JSON string, or in an object: the one of Unity's purchasing library around a
    /// receipt, of StoreKit or Apple's servers around what they sign, or of an app around its question to
    /// `verifyReceipt`.
    ///
    /// - Throws: `empty`, `tooLarge`, `notBase64`, `notPKCS7` if base64 holds something else, or `unknownForm`.
    public init(_ uploaded: some Collection<UInt8>) throws(ReceiptError) {
        guard uploaded.count <= Self.sizeLimit else { throw .tooLarge(limit: Self.sizeLimit) }
        var bytes = Array(uploaded)
        for _ in 0..<Self.layerLimit {
            switch try Layer(bytes) {
            case .form(let form):
                self = form
                return
            case .wrapped(let inner): bytes = inner
            }
        }
        throw .unknownForm
    }
}

extension ReceiptText {
    /// Whether a text is an app receipt in canonical base64: in the usual alphabet, with its padding and nothing else,
    /// and with the beginning of a PKCS#7 container. Most uploads are, and need not be decoded to tell.
    package static func isPlainAppReceipt(_ text: String) -> Bool {
        var text = text
        return text.withUTF8 { bytes in
            guard bytes.count <= sizeLimit, Base64Text.isCanonical(bytes),
                let beginning = try? Base64Text.decoded(Array(bytes.prefix(32)))
            else { return false }
            return SignedContainer.begins(beginning)
        }
    }
}

/// One look at uploaded bytes: their form, or the bytes that they wrap.
private enum Layer {
    case form(ReceiptText)
    case wrapped([UInt8])

    init(_ bytes: [UInt8]) throws(ReceiptError) {
        if SignedContainer.begins(bytes) {
            self = .form(.appReceipt(bytes))
            return
        }
        let text = Self.trimmed(bytes)
        switch text.first {
        case nil: throw .empty
        case UInt8(ascii: "{"): self = try Self.object(text)
        case UInt8(ascii: "\""), UInt8(ascii: "'"): self = .wrapped(try Self.unquoted(text))
        default: self = try Self.encoded(text)
        }
    }

    /// The bytes without surrounding white space, a byte order mark, or the zeros after a C string.
    private static func trimmed(_ bytes: [UInt8]) -> [UInt8] {
        let mark: [UInt8] = [0xEF, 0xBB, 0xBF]
        let start = bytes.starts(with: mark) ? bytes.dropFirst(mark.count) : bytes[...]
        let front = start.drop(while: Base64Text.isSpace)
        let last = front.lastIndex { !Base64Text.isSpace($0) && $0 != 0 }
        return last.map { Array(front[...$0]) } ?? []
    }

    private static func unquoted(_ text: [UInt8]) throws(ReceiptError) -> [UInt8] {
        if let string = try? JSONDecoder().decode(String.self, from: Data(text)) { return Array(string.utf8) }
        guard text.count >= 2, text.first == text.last else { throw .notBase64(position: 0) }
        return Array(text.dropFirst().dropLast())
    }

    private static func object(_ text: [UInt8]) throws(ReceiptError) -> Layer {
        // An object that was escaped for a JSON string, and then lost the string's quotes.
        if text.dropFirst().first == UInt8(ascii: "\\") {
            let quote = [UInt8(ascii: "\"")]
            guard let string = try? JSONDecoder().decode(String.self, from: Data(quote + text + quote)) else {
                throw .unknownForm
            }
            return .wrapped(Array(string.utf8))
        }
        if mayBeRead(text), let object = try? JSONDecoder().decode(UploadedObject.self, from: Data(text)) {
            if let payload = object.payload { return .wrapped(Array(payload.utf8)) }
            guard object.isAnswer else { throw .unknownForm }
            return .form(.verifyReceiptAnswer(text))
        }
        guard PropertyList.mayBegin(text) else { throw .unknownForm }
        return .form(.transactionReceipt(text))
    }

    /// More values than any object holds that somebody uploads: JSONDecoder takes fifty bytes for each, so those of one
    /// upload could take hundreds of megabytes.
    private static let valueLimit = 1 << 18

    /// Whether an object holds so few values that it may be decoded: each has a comma or such before it.
    private static func mayBeRead(_ object: [UInt8]) -> Bool {
        var values = 0
        for byte in object {
            switch byte {
            case UInt8(ascii: ","), UInt8(ascii: ":"), UInt8(ascii: "["), UInt8(ascii: "{"): values += 1
            default: continue
            }
        }
        return values <= valueLimit
    }

    private static func encoded(_ text: [UInt8]) throws(ReceiptError) -> Layer {
        if let token = compactJWS(text) { return .form(.signed(token)) }
        let decoded = try Base64Text.decoded(text)
        if SignedContainer.begins(decoded) { return .form(.appReceipt(decoded)) }
        let isWrapped = decoded.first { !Base64Text.isSpace($0) } == UInt8(ascii: "{") || compactJWS(decoded) != nil
        guard isWrapped else { throw .notPKCS7 }
        return .wrapped(decoded)
    }

    /// The text without line breaks, if it is three parts in the alphabet for URLs with dots between them.
    private static func compactJWS(_ text: [UInt8]) -> String? {
        guard text.contains(UInt8(ascii: ".")) else { return nil }
        let token = text.filter { !Base64Text.isSpace($0) }
        // No more than it may have: of a text of dots alone, they would take hundreds of megabytes.
        let parts = token.split(separator: UInt8(ascii: "."), maxSplits: 3, omittingEmptySubsequences: false)
        guard parts.count == 3, parts.allSatisfy({ !$0.isEmpty && $0.allSatisfy(isURLSafe) }) else { return nil }
        return String(decoding: token, as: UTF8.self)
    }

    private static func isURLSafe(_ byte: UInt8) -> Bool {
        Base64Text.isAlphanumeric(byte) || byte == UInt8(ascii: "-") || byte == UInt8(ascii: "_")
    }
}

/// A JSON object that was uploaded.
private struct UploadedObject: Decodable {
    enum Key: String, CodingKey {
        /// The field of Unity's object, beside `Store` and `TransactionID`.
        case payload = "Payload"
        /// What Apple sends to an app's server: a notification of version 2.
        case signedPayload
        /// The App Store Server API's answer about one transaction.
        case signedTransactionInfo
        /// StoreKit's own name for a signed transaction.
        case jwsRepresentation
        /// The question that `verifyReceipt` takes.
        case receiptData = "receipt-data"
        case status

        static let payloads: [Key] = [
            .payload, .signedPayload, .signedTransactionInfo, .jwsRepresentation, .receiptData,
        ]
    }

    let payload: String?
    let isAnswer: Bool

    init(from decoder: any Decoder) throws {
        let object = try decoder.container(keyedBy: Key.self)
        payload = Key.payloads.lazy.compactMap { try? object.decode(String.self, forKey: $0) }.first
        isAnswer = object.contains(.status)
    }
}
