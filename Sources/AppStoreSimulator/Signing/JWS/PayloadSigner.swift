import Foundation

/// Signs JSON as StoreKit 2 and the App Store Server API do: a compact JWS with ES256 and three certificates.
struct PayloadSigner: Sendable {
    private let key: SigningKey
    private let header: String

    init(_ keys: KeyFile) {
        key = keys.key
        let certificates = keys.certificates.map { "\"\(Data($0.der).base64EncodedString())\"" }
        header = Base64URL.text(Array("{\"alg\":\"ES256\",\"x5c\":[\(certificates.joined(separator: ","))]}".utf8))
    }

    /// Signs the object that `write` fills.
    func sign(_ write: (inout JSONText) -> Void) -> String {
        var payload = JSONText(capacity: 1024)
        payload.object(nil, write)
        let signed = header + "." + Base64URL.text(payload.bytes)
        return signed + "." + Base64URL.text(key.rawSignature(over: Array(signed.utf8)))
    }
}

/// Base64 with the alphabet for URLs and without padding (RFC 7515).
enum Base64URL {
    static func text(_ bytes: [UInt8]) -> String {
        // In place, in an array: a page of notifications has more than 100,000 digits.
        var digits = Array(Data(bytes).base64EncodedData())
        while digits.last == UInt8(ascii: "=") { digits.removeLast() }
        for place in digits.indices { digits[place] = exchanged(digits[place], "+/", for: "-_") }
        return String(decoding: digits, as: UTF8.self)
    }

    static func bytes(_ text: some StringProtocol) -> [UInt8]? {
        let digits = text.utf8.map { exchanged($0, "-_", for: "+/") }
        let padding = [UInt8](repeating: UInt8(ascii: "="), count: (4 - digits.count % 4) % 4)
        return Data(base64Encoded: Data(digits + padding)).map(Array.init)
    }

    /// The digit in the other alphabet, if it is one of the two that differ.
    private static func exchanged(_ digit: UInt8, _ these: StaticString, for those: StaticString) -> UInt8 {
        if digit == these.utf8Start[0] { return those.utf8Start[0] }
        return digit == these.utf8Start[1] ? those.utf8Start[1] : digit
    }
}
