import Foundation

/// One request to the App Store Server API.
struct ServerAPIRequest: Sendable {
    let operation: ServerAPIOperation
    /// What follows the address of the environment, percent-encoded.
    let path: String
    /// If there is one, the request is a POST.
    let body: Data?

    init(_ operation: ServerAPIOperation, path: String, query: [(name: String, value: String?)] = [], body: Data? = nil)
    {
        self.operation = operation
        let items = query.compactMap { item in item.value.map { "\(item.name)=\(Self.encoded($0))" } }
        self.path = items.isEmpty ? path : path + "?" + items.joined(separator: "&")
        self.body = body
    }

    /// A question about a transaction that nobody has, which Apple answers whenever it is up.
    static let nobodysTransaction = ServerAPIRequest.transactionInfo(of: ServerAPIClient.nobodysTransactionID)

    /// Get Transaction Info.
    static func transactionInfo(of transactionID: String) -> ServerAPIRequest {
        ServerAPIRequest(.transactionInfo, path: "/inApps/v1/transactions/\(transactionID)")
    }

    /// Whether a text can be an id of Apple's. Other texts are never put into a URL.
    static func isIdentifier(_ text: String) -> Bool {
        (1...64).contains(text.utf8.count) && text.utf8.allSatisfy(isPlain)
    }

    private static func encoded(_ text: String) -> String {
        text.utf8.map { isPlain($0) ? String(UnicodeScalar($0)) : "%" + hexadecimal($0 >> 4) + hexadecimal($0 & 15) }
            .joined()
    }

    private static func hexadecimal(_ digit: UInt8) -> String { String(digit, radix: 16, uppercase: true) }

    /// Whether it is a letter, a digit, `-` or `_` of ASCII.
    private static func isPlain(_ character: UInt8) -> Bool {
        switch character {
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "-"), UInt8(ascii: "_"):
            true
        default: false
        }
    }
}
