/// A validated identifier of Apple's, kept as text: ids of 18 digits occur, and a number would round them.
///
/// `Kind` keeps one sort of id from being handed in for another.
public struct TextID<Kind: IDKind>: Hashable, Sendable, Comparable, Codable, CustomStringConvertible {
    /// The id as Apple wrote it.
    public let text: String

    /// The id, or `nil` if the text is empty, longer than `Kind.longest` bytes, or holds anything but visible ASCII: no
    /// id of Apple's does, and such text must not travel as one.
    public init?(_ text: String) {
        guard !text.isEmpty, text.utf8.count <= Kind.longest, text.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F })
        else { return nil }
        self.text = text
    }

    public init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        guard let id = TextID(try container.decode(String.self)) else {
            throw DecodingError.dataCorruptedError(in: container, debugDescription: "not a \(Kind.self)")
        }
        self = id
    }

    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(text)
    }

    public var description: String { text }

    /// The id as one word of a command that is shown to be copied: an id may hold what a shell would run.
    public var shellWord: String {
        let plain = text.utf8.allSatisfy { byte in
            switch byte {
            case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "A")...UInt8(ascii: "Z"): true
            case UInt8(ascii: "a")...UInt8(ascii: "z"): true
            default: "_.:-".utf8.contains(byte)
            }
        }
        return plain ? text : "'\(text.replacing("'", with: "'\\''"))'"
    }

    /// Compares in byte order, which is PostgreSQL's collation "C" and, for ASCII, that of strings.
    public static func < (a: TextID, b: TextID) -> Bool {
        a.text < b.text
    }
}

/// What sort of thing an id names, and how long such an id may be.
public protocol IDKind: Sendable {
    /// The most bytes an id of this kind may have.
    static var longest: Int { get }
}

/// Names a transaction (`transaction_id`, `transactionId`).
public enum TransactionKind: IDKind {
    public static let longest = 64
}

/// Names an app (`bundle_id`).
public enum BundleKind: IDKind {
    public static let longest = 255
}

/// Names a product of an app (`product_id`).
public enum ProductKind: IDKind {
    public static let longest = 255
}

/// The id of a transaction: one purchase, or one period of a subscription.
public typealias TransactionID = TextID<TransactionKind>
/// The id of an app.
public typealias BundleID = TextID<BundleKind>
/// The id of a product, which is an app's own: another app may have one of the same id.
public typealias ProductID = TextID<ProductKind>
