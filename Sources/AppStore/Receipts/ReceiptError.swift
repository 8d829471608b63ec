/// Why an uploaded receipt can't be read.
public enum ReceiptError: Error, Sendable, Hashable, CustomStringConvertible {
    case empty
    /// Larger than any receipt; `limit` in bytes.
    case tooLarge(limit: Int)
    /// A character that base64 doesn't have, at this byte of the text, or a last group of one character.
    case notBase64(position: Int)
    /// Not a PKCS#7 container.
    case notPKCS7
    /// A PKCS#7 container or property list whose end is missing.
    case truncated
    /// A readable container that holds no receipt of Apple's.
    case notApples(String)
    /// The content of the receipt breaks its format at this byte.
    case payloadMalformed(position: Int)
    /// None of the forms that Apple's proofs have.
    case unknownForm

    public var description: String {
        switch self {
        case .empty: "the receipt is empty"
        case .tooLarge(let limit): "the receipt is larger than \(limit) bytes"
        case .notBase64(let position): "the receipt is not base64 at byte \(position)"
        case .notPKCS7: "the receipt is not PKCS#7"
        case .truncated: "the receipt is truncated"
        case .notApples(let reason): "the receipt is not Apple's: \(reason)"
        case .payloadMalformed(let position): "the receipt's payload is malformed at byte \(position)"
        case .unknownForm: "this is neither a receipt, nor a signed transaction, nor an answer of verifyReceipt"
        }
    }
}
