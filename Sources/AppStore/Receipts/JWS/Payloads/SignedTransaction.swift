public import Foundation

/// A transaction that Apple signed: the payload of StoreKit 2, of the App Store Server API and of notifications.
///
/// Any field may be missing: whatever Apple adds, leaves out or changes, the other fields stay readable. Apple's words
/// are kept as sent.
public struct SignedTransaction: Sendable, Hashable {
    public var transactionID: String?
    public var originalTransactionID: String?
    /// Stays the same for one period of a subscription, on every device. `nil` where several purchases make up a period,
    /// as seats that were added to it: each was paid, and none restores another.
    public var webOrderLineItemID: String?
    public var bundleID: String?
    public var productID: String?
    public var subscriptionGroupID: String?
    public var purchaseDate: Date?
    public var originalPurchaseDate: Date?
    public var expiresDate: Date?
    public var quantity: Int?
    /// `Auto-Renewable Subscription`, `Non-Consumable`, `Consumable`, `Non-Renewing Subscription`, or a later value.
    public var type: String?
    /// As the app set it; meant to be a UUID, but not always one.
    public var appAccountToken: String?
    /// `PURCHASED`, `FAMILY_SHARED`, `ASSIGNED`, or a later value.
    public var ownershipType: String?
    /// When Apple signed this. For a renewal it may be before `purchaseDate`.
    public var signedDate: Date?
    /// When Apple refunded the transaction or revoked it from family sharing.
    public var revocationDate: Date?
    /// `1` a problem with the app, `0` another reason, or a later value.
    public var revocationReason: String?
    /// `REFUND_FULL`, `REFUND_PRORATED`, `FAMILY_REVOKE`, or a later value.
    public var revocationType: String?
    /// The part of the price that was refunded, in milliunits of a percent: 0 to 100000. Other values are ignored.
    public var revocationPercentage: Int?
    public var isUpgraded: Bool
    /// `1` introductory, `2` promotional, `3` offer code, `4` win-back, or a later value.
    public var offerType: Int64?
    public var offerID: String?
    /// `FREE_TRIAL`, `PAY_AS_YOU_GO`, `PAY_UP_FRONT`, or a later value.
    public var offerDiscountType: String?
    /// `Production`, `Sandbox`; `Xcode` and `LocalTesting` are not signed by Apple.
    public var environment: String?
    /// Three letters, ISO 3166-1 alpha-3.
    public var storefront: String?
    public var storefrontID: String?
    /// `PURCHASE`, `RENEWAL`, or a later value.
    public var transactionReason: String?
    /// ISO 4217.
    public var currency: String?
    /// In milliunits of `currency`, for all units: https://developer.apple.com/documentation/appstoreserverapi/price
    public var priceMilliunits: Int64?
    /// One for each Apple account and app, kept over reinstall and refund. Values that changed within one history have
    /// been seen: evidence, not proof.
    public var appTransactionID: String?
    /// Names of fields that decide whether a purchase is owed, and that are there but can't be read.
    public var unreadableFields: [String]
}

extension SignedTransaction: SignedPayload {
    var app: AppClaims? { AppClaims(bundleID: bundleID) }

    init(_ payload: JSONObject) {
        transactionID = payload.text("transactionId")
        originalTransactionID = payload.text("originalTransactionId")
        // https://developer.apple.com/documentation/appstoreserverapi/additionaltransactionreason
        webOrderLineItemID = payload.says("additionalTransactionReason") ? nil : payload.text("webOrderLineItemId")
        bundleID = payload.text("bundleId")
        productID = payload.text("productId")
        subscriptionGroupID = payload.text("subscriptionGroupIdentifier")
        purchaseDate = payload.date("purchaseDate")
        originalPurchaseDate = payload.date("originalPurchaseDate")
        expiresDate = payload.date("expiresDate")
        quantity = payload.integer("quantity").flatMap(Int.init(exactly:))
        type = payload.text("type")
        appAccountToken = payload.text("appAccountToken")
        ownershipType = payload.text("inAppOwnershipType")
        signedDate = payload.date("signedDate")
        revocationDate = payload.date("revocationDate")
        revocationReason = payload.integer("revocationReason").map(String.init) ?? payload.text("revocationReason")
        revocationType = payload.text("revocationType")
        revocationPercentage = payload.integer("revocationPercentage").flatMap(Self.percentage)
        isUpgraded = payload.flag("isUpgraded") ?? false
        offerType = payload.integer("offerType")
        offerID = payload.text("offerIdentifier")
        offerDiscountType = payload.text("offerDiscountType")
        environment = payload.text("environment")
        storefront = payload.text("storefront")
        storefrontID = payload.text("storefrontId")
        transactionReason = payload.text("transactionReason")
        currency = payload.text("currency")
        priceMilliunits = Self.price(of: payload)
        appTransactionID = payload.text("appTransactionId")
        unreadableFields = Self.unreadable([
            (quantity == nil && payload.says("quantity"), "quantity"),
            (purchaseDate == nil && payload.says("purchaseDate"), "purchaseDate"),
            (expiresDate == nil && payload.says("expiresDate"), "expiresDate"),
            (revocationDate == nil && payload.says("revocationDate"), "revocationDate"),
        ])
    }

    /// The price of all units. Of seats Apple's `price` is that of one of them on average, and the tiers say what was paid:
    /// https://developer.apple.com/documentation/appstoreserverapi/transactionmultiseatinfo
    private static func price(of payload: JSONObject) -> Int64? {
        guard let seats = payload.object("multiSeatInfo") else { return payload.integer("price") }
        guard let tiers = seats.listOrOne("priceTiers"), !tiers.isEmpty else { return nil }
        var total: Int64 = 0
        for tier in tiers {
            guard let price = tier?.integer("price"), let quantity = tier?.integer("quantity") else { return nil }
            let (product, isTooGreat) = price.multipliedReportingOverflow(by: quantity)
            let (sum, isTooMuch) = total.addingReportingOverflow(product)
            guard !isTooGreat, !isTooMuch else { return nil }
            total = sum
        }
        return total
    }

    private static func percentage(_ milliunits: Int64) -> Int? {
        (0...100_000).contains(milliunits) ? Int(milliunits) : nil
    }

    private static func unreadable(_ fields: [(isUnreadable: Bool, name: String)]) -> [String] {
        fields.filter(\.isUnreadable).map(\.name)
    }
}
