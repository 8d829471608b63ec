public import Foundation

/// Something that looks like fraud or a mix-up, listed in the report's section "suspicious".
public struct Suspicion: Hashable, Sendable {
    /// What is suspicious.
    public enum Kind: String, Hashable, Sendable, Codable, CaseIterable {
        /// The receipt belongs to another app.
        case foreignBundle = "foreign_bundle"
        /// Apple tells that none of it was bought, or less, so that nothing is owed.
        case invalidQuantity = "invalid_quantity"
        /// The app does not sell this product.
        case unknownProduct = "unknown_product"
        /// Three users or more presented the same transaction.
        case manyUsers = "many_users"
        /// Apple says that the receipt is not genuine, and Apple's own signature holds.
        case contradiction
        /// It was delivered to another user than the one for whom there is more evidence (误充).
        case misdelivery
        /// It was claimed for somebody else's order, and refused.
        case refusedClaim = "refused_claim"
        /// It was delivered, and paid in a country where the app expects no sales.
        case unexpectedStorefront = "unexpected_storefront"
        /// A receipt was uploaded for a thousand purposes or more.
        case manyPurposes = "many_purposes"
        /// It was delivered, and Apple's word does not bear that out.
        case deliveredUnproved = "delivered_unproved"
        /// It was paid in another currency than is usual in its storefront, or at less than half of the usual price.
        case unusualPrice = "unusual_price"
    }

    /// What it is about.
    public enum Subject: Hashable, Sendable {
        case transaction(TransactionKey, ProductID)
        /// A receipt, and the app that it was handed in for; the transaction is what the client said it is for.
        case receipt(Int64, bundleID: String, transactionID: String?)
    }

    public var kind: Kind
    public var subject: Subject
    /// Everyone who presented it, the earliest first.
    public var userIDs: [String]
    public var firstSeenAt: Date
    /// What was found, for instance the bundle id that the receipt names.
    public var detail: String
    /// At how much it is booked, if it was delivered unpaid, or not paid as usual, and a price is known.
    public var price: Money?

    public init(
        kind: Kind, subject: Subject, userIDs: [String], firstSeenAt: Date, detail: String
    ) {
        self.kind = kind
        self.subject = subject
        self.userIDs = userIDs
        self.firstSeenAt = firstSeenAt
        self.detail = detail
    }
}

extension Suspicion.Subject {
    public var transactionID: String? {
        switch self {
        case .transaction(let key, _): key.id.text
        case .receipt(_, _, let transactionID): transactionID
        }
    }

    public var receiptID: Int64? {
        if case .receipt(let id, _, _) = self { id } else { nil }
    }

    public var bundleID: String {
        switch self {
        case .transaction(let key, _): key.bundleID.text
        case .receipt(_, let bundleID, _): bundleID
        }
    }

    public var productID: ProductID? {
        if case .transaction(_, let productID) = self { productID } else { nil }
    }

    public var environment: Environment? {
        if case .transaction(let key, _) = self { key.environment } else { nil }
    }
}
