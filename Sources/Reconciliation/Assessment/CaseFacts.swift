public import Foundation

/// Everything that is known of one white transaction past its grace, as the assessment reads it.
public struct CaseFacts: Hashable, Sendable {
    /// The most sightings, mentions and claims that are looked at, and the most orders of a user and product. One
    /// client can make thousands of each, and a night must not crawl for it.
    public static let most = 100

    public var key: TransactionKey
    public var productID: ProductID
    public var productType: ProductType?
    /// Whether the app sells this product, as far as the table `products` tells. When that lists none at all, only what
    /// may have been delivered under another id counts as unknown.
    public var isProductKnown: Bool
    public var quantity: Int
    public var purchasedAt: Date
    /// When it was paid for, if this id only restores it; `nil` otherwise.
    public var firstPurchasedAt: Date?
    /// On how many nights Apple confirmed the purchase while nobody claimed it.
    public var nightsConfirmed: Int
    /// Whether an earlier night made it a case: of what no receipt holds, Apple is not asked each night.
    public var wasCaseBefore = false
    /// The user for whom the app's own server admitted it, if it did.
    public var admittedFor: String?
    /// The users for whom it admitted the same purchase under other ids.
    public var admittedOtherwiseFor: [String] = []
    public var sightings: [Sighting] = []
    /// Uploads of genuine receipts for this very transaction that don't hold it, the earliest first.
    public var mentions: [Mention] = []
    public var claims: [ClaimAttempt] = []
    /// Seconds since the purchase.
    public var age: TimeInterval
    /// The app's own orders that it may pay for and for which nothing was delivered.
    public var orders: [Order] = []
    /// The orders that came with it, or that it was claimed for, and for which another purchase was delivered.
    public var usedOrderIDs: [String] = []
    /// The users to whom other purchases of the same receipts were delivered.
    public var companions: [String] = []
    /// The user for whom the support desk adopted it by what Apple signed.
    public var adoptedFor: String?
    /// To whom other purchases of the same `appTransactionId` were delivered, if nobody is known to have uploaded it.
    public var accountUsers: [String] = []
    /// Whether a later receipt of a user whose receipt held it doesn't hold it any more.
    public var isMissingLater = false
    /// Whether every receipt that held it was uploaded for another purchase.
    public var onlyCameWithOthers = false
    /// Whether the app's server is told of purchases by Apple's notifications too.
    public var awaitsNotifications = true
    /// Whether the app lists its storefronts, and this purchase's is none of them.
    public var isStorefrontUnexpected = false
    /// Whether more is known of it than is looked at.
    public var isCutShort = false
    /// The users for whom the app's server registered the `appAccountToken` that the purchase bears, or whose orders
    /// bear it for which something was delivered already.
    public var tokenOwners: [String] = []
    /// What Apple told of it by itself.
    public var notices = NoticeFacts()
    /// The subscription whose first period without access this is; `nil` if purchases are claimed one by one.
    public var subscription: Subscription?

    /// One of the app's own orders.
    public struct Order: Hashable, Sendable, Codable {
        public let id: String
        public let userID: String
        public let createdAt: Date
        /// Whether it has the `appAccountToken` that the purchase bears.
        public let bearsToken: Bool
        /// Whether it is for the purchase's product, and from about its time.
        public let fits: Bool

        public init(id: String, userID: String, createdAt: Date, bearsToken: Bool, fits: Bool = true) {
            self.id = id
            self.userID = userID
            self.createdAt = createdAt
            self.bearsToken = bearsToken
            self.fits = fits
        }
    }

    /// An upload for a transaction, of a genuine receipt that doesn't hold it.
    public struct Mention: Hashable, Sendable, Codable {
        /// The user who uploaded it, if one was logged in.
        public let userID: String?
        /// The order id that came with it.
        public let orderID: String?

        public init(userID: String?, orderID: String?) {
            self.userID = userID
            self.orderID = orderID
        }
    }

    /// Whether no user's receipt held it or was uploaded for it. At most, Apple told of it when asked about one.
    public var wasHandedInByNobody: Bool {
        sightings.allSatisfy { $0.userID == nil || !($0.isInReceipt || $0.isNamed) }
    }

    /// The orders that came with an upload for this very transaction.
    public var namedOrderIDs: [String] {
        sightings.filter(\.isNamed).compactMap(\.orderID) + mentions.compactMap(\.orderID)
    }

    /// The orders that came with an upload that named no transaction: each is of one of those in the receipt, and not of
    /// what Apple told of its customer besides.
    public var broughtOrderIDs: [String] {
        sightings.filter { !$0.isNamed && $0.isInReceipt }.compactMap(\.orderID)
    }

    /// Takes what is known of every case; whoever knows more sets it.
    public init(
        key: TransactionKey, productID: ProductID, productType: ProductType?, isProductKnown: Bool, quantity: Int,
        purchasedAt: Date, nightsConfirmed: Int, age: TimeInterval
    ) {
        self.key = key
        self.productID = productID
        self.productType = productType
        self.isProductKnown = isProductKnown
        self.quantity = quantity
        self.purchasedAt = purchasedAt
        self.nightsConfirmed = nightsConfirmed
        self.age = age
    }
}
