/// A line of Apple's sales report that tells of in-app purchases: how many units of a product were sold, or refunded,
/// on a day in a country at a price.
public struct SalesLine: Hashable, Sendable {
    /// In Pacific Time.
    public var day: CalendarDay
    /// The account, as the report calls it; empty if it doesn't say.
    public var developer: String
    /// The Parent Identifier: the SKU that the app's owner gave the app. Empty if the report doesn't say.
    public var appSKU: String
    public var productID: ProductID
    /// Apple's Product Type Identifier.
    public var type: String
    /// The country, by its code of three letters.
    public var storefront: String
    /// Negative for refunds.
    public var units: Int64
    /// What the customer paid for one unit.
    public var price: Money?
    /// Whether it cost the customer nothing, if the report names no currency for that.
    public var isFree: Bool
    /// The developer's part of one unit.
    public var proceeds: Money?

    public init(
        day: CalendarDay, developer: String, appSKU: String, productID: ProductID, type: String, storefront: String,
        units: Int64, price: Money?, isFree: Bool = false, proceeds: Money?
    ) {
        self.day = day
        self.developer = developer
        self.appSKU = appSKU
        self.productID = productID
        self.type = type
        self.storefront = storefront
        self.units = units
        self.price = price
        self.isFree = isFree
        self.proceeds = proceeds
    }
}

/// A day's report of one account: what a later one replaces.
public struct SalesDay: Hashable, Sendable, Comparable {
    public var day: CalendarDay
    public var developer: String

    public init(day: CalendarDay, developer: String) {
        self.day = day
        self.developer = developer
    }

    public static func < (a: SalesDay, b: SalesDay) -> Bool { (a.day, a.developer) < (b.day, b.developer) }
}

/// What a line of a sales report is about, by Apple's Product Type Identifier.
public enum SalesProductType: Hashable, Sendable {
    case inAppPurchase
    /// A non-consumable that was restored: no money, and no sale.
    case restored
    /// Apps, their updates and whatever else is not bought in an app.
    case other
    /// Something bought in an app, of a kind that this program does not know.
    case unknownInAppPurchase

    /// From App Store Connect's list of product type identifiers; IAC is an older one, for free subscriptions.
    public init(identifier: String) {
        switch identifier {
        case "IA1", "IA1-M", "IA9", "IA9-M", "IAY", "IAY-M", "IAC", "IAC-M", "FI1": self = .inAppPurchase
        case "IA3", "IA3-M": self = .restored
        default: self = identifier.hasPrefix("IA") || identifier.hasPrefix("FI") ? .unknownInAppPurchase : .other
        }
    }
}
