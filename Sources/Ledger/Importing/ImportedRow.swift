public import Foundation
public import Reconciliation

/// One thing of a company's own history, checked as far as it can be without the ledger.
public enum ImportedRow: Sendable {
    case receipt(ImportedReceipt)
    case order(ImportedOrder)
    case delivery(ImportedDelivery)
    case entitlement(ImportedEntitlement)
    case product(ImportedProduct)

    /// The id by which the company knows it; `nil` for a receipt that was uploaded for nothing in particular.
    package var id: String? {
        switch self {
        case .receipt(let receipt): receipt.transactionID ?? receipt.orderID
        case .order(let order): order.orderID
        case .delivery(let delivery): delivery.key.id.text
        case .entitlement(let entitlement): entitlement.originalID.text
        case .product(let product): product.product.id.text
        }
    }
}

/// What a client once uploaded, as `iap.submit_receipt` takes it.
public struct ImportedReceipt: Sendable {
    public var bundleID: BundleID
    public var userID: String?
    public var payload: String
    public var transactionID: String?
    public var orderID: String?
    /// JSON, of which PostgreSQL takes every word.
    public var device: String?
    /// `nil` if it is not known: then it is now.
    public var submittedAt: Date?

    public init(
        bundleID: BundleID, userID: String?, payload: String, transactionID: String?, orderID: String?,
        device: String?, submittedAt: Date?
    ) {
        self.bundleID = bundleID
        self.userID = userID
        self.payload = payload
        self.transactionID = transactionID
        self.orderID = orderID
        self.device = device
        self.submittedAt = submittedAt
    }
}

/// An order of the app's own, as `iap.register_order` takes it.
public struct ImportedOrder: Sendable {
    public var bundleID: BundleID
    public var orderID: String
    public var userID: String
    public var productID: ProductID
    public var quantity: Int32
    public var appAccountToken: String?
    /// `nil` if it is not known: then it is now.
    public var createdAt: Date?

    public init(
        bundleID: BundleID, orderID: String, userID: String, productID: ProductID, quantity: Int32,
        appAccountToken: String?, createdAt: Date?
    ) {
        self.bundleID = bundleID
        self.orderID = orderID
        self.userID = userID
        self.productID = productID
        self.quantity = quantity
        self.appAccountToken = appAccountToken
        self.createdAt = createdAt
    }
}

/// A transaction whose goods were delivered before the ledger was there.
public struct ImportedDelivery: Sendable {
    public var key: TransactionKey
    public var originalID: TransactionID
    public var productID: ProductID
    public var quantity: Int32
    public var purchasedAt: Date
    public var userID: String?
    public var orderID: String?
    public var deliveredAt: Date

    public init(
        key: TransactionKey, originalID: TransactionID, productID: ProductID, quantity: Int32, purchasedAt: Date,
        userID: String?, orderID: String?, deliveredAt: Date
    ) {
        self.key = key
        self.originalID = originalID
        self.productID = productID
        self.quantity = quantity
        self.purchasedAt = purchasedAt
        self.userID = userID
        self.orderID = orderID
        self.deliveredAt = deliveredAt
    }
}

/// Until when an app's server has granted what an original transaction bought.
public struct ImportedEntitlement: Sendable {
    public var originalID: TransactionID
    public var bundleID: BundleID
    public var userID: String
    /// `nil` if it was granted for ever.
    public var until: Date?
    /// When the grant was taken back; `nil` if it was not.
    public var revokedAt: Date?

    public init(
        originalID: TransactionID, bundleID: BundleID, userID: String, until: Date?, revokedAt: Date?
    ) {
        self.originalID = originalID
        self.bundleID = bundleID
        self.userID = userID
        self.until = until
        self.revokedAt = revokedAt
    }
}

/// What an app sells.
public struct ImportedProduct: Sendable {
    public var bundleID: BundleID
    public var product: Product

    public init(bundleID: BundleID, product: Product) {
        self.bundleID = bundleID
        self.product = product
    }
}
