/// An ISO 4217 code of three capital letters.
public struct CurrencyCode: Hashable, Sendable, Comparable, Codable, CustomStringConvertible {
    public let text: String

    /// The code, or `nil` if the text is not three capital letters.
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

    /// More than anybody pays for a purchase, in any currency. Anything above is a mistake, and PostgreSQL could not
    /// hold the sum of a few such amounts.
    public static let most: Int64 = 1_000_000_000_000_000

    public init(milliunits: Int64, currency: CurrencyCode) {
        self.milliunits = milliunits
        self.currency = currency
    }
}

extension Money: CustomStringConvertible {
    /// The exact amount with the decimals of its currency (ISO 4217). It is never rounded: an amount finer than the
    /// currency's unit is shown in full.
    public var amount: String {
        let decimals = currency.decimals
        let fraction = String(milliunits.magnitude % 1000 + 1000).dropFirst()
        let rest = fraction.suffix(3 - decimals)
        let shown = rest.allSatisfy { $0 == "0" } ? String(fraction.dropLast(3 - decimals)) : String(fraction)
        return (milliunits < 0 ? "-" : "") + String(milliunits.magnitude / 1000) + (shown.isEmpty ? "" : ".\(shown)")
    }

    public var description: String { "\(amount) \(currency)" }
}

extension CurrencyCode {
    fileprivate var decimals: Int {
        switch text {
        case "BIF", "CLP", "DJF", "GNF", "ISK", "JPY", "KMF", "KRW", "PYG", "RWF", "UGX", "UYI", "VND", "VUV",
            "XAF", "XOF", "XPF":
            0
        case "BHD", "IQD", "JOD", "KWD", "LYD", "OMR", "TND": 3
        default: 2
        }
    }
}
