/// An ISO 4217 code of three capital letters.
public struct CurrencyCode: Hashable, Sendable, Comparable, Codable, CustomStringConvertible {
    public let text: String

    /// The code, or `nil` when the text is not three capital letters.
    public init?(_ text: String) {
        guard text.utf8.count == 3, text.utf8.allSatisfy({ $0 >= 0x41 && $0 <= 0x5A }) else { return nil }
        self.text = text
    }

    public var description: String { text }

    public static func < (a: CurrencyCode, b: CurrencyCode) -> Bool { a.text < b.text }
}

/// An amount in milliunits of a currency, the unit of Apple's `price`: 230000 JPY are ¥230. Never a `Double`.
public struct Money: Hashable, Sendable, Codable {
    public let milliunits: Int64
    public let currency: CurrencyCode

    public init(milliunits: Int64, currency: CurrencyCode) {
        self.milliunits = milliunits
        self.currency = currency
    }
}
