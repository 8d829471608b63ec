public import Foundation

/// The environment in which a receipt is made, with Apple's names.
public enum StoreEnvironment: String, Hashable, Sendable, CaseIterable {
    case production = "Production"
    case sandbox = "Sandbox"
}

/// One purchase in a receipt. The store knows what happens to it later, such as a refund.
public struct SimulatedTransaction: Hashable, Sendable {
    /// Kinds of products, with their numbers in app receipts.
    public enum ProductType: Int, Hashable, Sendable, CaseIterable {
        case nonConsumable = 0
        case consumable = 1
        case nonRenewing = 2
        case autoRenewable = 3
    }

    /// The cost of one unit, in thousandths of the currency (ISO 4217).
    public struct Price: Hashable, Sendable {
        public var milliunits: Int64
        public var currency: String

        public init(milliunits: Int64, currency: String) {
            self.milliunits = milliunits
            self.currency = currency
        }
    }

    public var id: String
    /// The id of the first purchase, which this one renews or restores; its own id if it is the first.
    public var originalID: String
    public var productID: String
    public var productType: ProductType
    public var quantity: Int
    public var purchasedAt: Date
    public var originalPurchasedAt: Date
    /// When the period ends; only auto-renewables have one.
    public var expiresAt: Date?
    public var isTrial: Bool
    /// Paid at the price of an introductory offer.
    public var isIntroductory: Bool
    public var isFamilyShared: Bool
    public var appAccountToken: String?
    /// Only signed transactions have it.
    public var price: Price?

    /// - Parameter productType: by default an auto-renewable if it expires, otherwise a consumable.
    public init(
        id: String, originalID: String? = nil, productID: String, productType: ProductType? = nil, quantity: Int = 1,
        purchasedAt: Date, originalPurchasedAt: Date? = nil, expiresAt: Date? = nil, isTrial: Bool = false,
        isIntroductory: Bool = false, isFamilyShared: Bool = false, appAccountToken: String? = nil, price: Price? = nil
    ) {
        self.id = id
        self.originalID = originalID ?? id
        self.productID = productID
        self.productType = productType ?? (expiresAt == nil ? .consumable : .autoRenewable)
        self.quantity = quantity
        self.purchasedAt = purchasedAt
        self.originalPurchasedAt = originalPurchasedAt ?? purchasedAt
        self.expiresAt = expiresAt
        self.isTrial = isTrial
        self.isIntroductory = isIntroductory
        self.isFamilyShared = isFamilyShared
        self.appAccountToken = appAccountToken
        self.price = price
    }

    /// Whether it is a period of an auto-renewable subscription.
    public var isAutoRenewable: Bool { productType == .autoRenewable }

    /// The id of the subscription's period, which stays the same when the purchase is restored.
    var webOrderLineItemID: String {
        let milliseconds = UInt64(bitPattern: (expiresAt ?? purchasedAt).unixMilliseconds)
        let mixed = Mix.value(StableHash.of(originalID.utf8), milliseconds)
        return String(200_000_000_000_000 + mixed % 100_000_000_000_000)
    }
}

extension Date {
    /// The moment in Apple's unit of time.
    var unixMilliseconds: Int64 { Int64((timeIntervalSince1970 * 1000).rounded()) }

    init(unixMilliseconds: Int64) {
        self.init(timeIntervalSince1970: Double(unixMilliseconds) / 1000)
    }
}
