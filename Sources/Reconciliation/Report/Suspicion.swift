public import Foundation

/// Something that looks like fraud or a mix-up, listed in the report's section "suspicious".
public struct Suspicion: Hashable, Sendable {
    public enum Kind: String, Hashable, Sendable, Codable, CaseIterable {
        /// The receipt belongs to another app.
        case foreignBundle = "foreign_bundle"
        /// The app does not sell this product.
        case unknownProduct = "unknown_product"
        /// Three users or more presented the same transaction.
        case manyUsers = "many_users"
    }

    public var kind: Kind
    public var key: TransactionKey
    public var productID: ProductID
    /// Everyone who presented it, the first first.
    public var userIDs: [String]
    public var firstSeenAt: Date
    /// What was found, for instance the bundle id that the receipt names.
    public var detail: String

    public init(
        kind: Kind, key: TransactionKey, productID: ProductID, userIDs: [String], firstSeenAt: Date, detail: String
    ) {
        self.kind = kind
        self.key = key
        self.productID = productID
        self.userIDs = userIDs
        self.firstSeenAt = firstSeenAt
        self.detail = detail
    }
}
