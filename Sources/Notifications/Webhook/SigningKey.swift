import COpenSSL
import Foundation

/// The key that signs webhooks, which no log, error or mirror shows.
public struct SigningKey: Sendable, CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// The sizes by <https://www.standardwebhooks.com>.
    private static let sizes = 24...64
    private let bytes: [UInt8]

    /// - Parameter text: base64 of 24 to 64 bytes, with or without `whsec_` before it.
    public init?(_ text: String) {
        let base64 = text.hasPrefix("whsec_") ? String(text.dropFirst(6)) : text
        guard let data = Data(base64Encoded: base64), Self.sizes.contains(data.count) else { return nil }
        bytes = Array(data)
    }

    public var description: String { "(secret)" }
    public var debugDescription: String { "(secret)" }
    public var customMirror: Mirror { Mirror(self, children: []) }

    /// The value of the header `webhook-signature`: HMAC-SHA-256 over id, time (seconds since 1970) and body.
    func signature(id: String, timestamp: Int, body: Data) throws(NotificationError) -> String {
        let signed = Array("\(id).\(timestamp).".utf8) + Array(body)
        var code = [UInt8](repeating: 0, count: Int(EVP_MAX_MD_SIZE))
        var length = 0
        let isDone = EVP_Q_mac(
            nil, "HMAC", nil, "SHA256", nil, bytes, bytes.count, signed, signed.count, &code, code.count, &length)
        guard isDone != nil else { throw NotificationError("OpenSSL can't compute HMAC-SHA-256") }
        return "v1," + Data(code.prefix(length)).base64EncodedString()
    }
}
