public import Foundation

/// The content of an app receipt, which nothing vouches for until its signature is verified.
public struct AppReceipt: Sendable, Hashable {
    /// As written: `Production`, `ProductionVPP`, `ProductionSandbox`, `ProductionVPPSandbox`, `Xcode`.
    public var receiptType: String?
    /// The app's id in the store; 0 in the sandbox.
    public var appID: Int64?
    public var bundleID: String?
    /// The bundle id's octets with tag and length, as they are hashed for `sha1Hash`.
    public var bundleIDOctets: [UInt8] = []
    public var applicationVersion: String?
    public var opaqueValue: [UInt8] = []
    /// Over the device's identifier, the opaque value and the bundle id's octets.
    public var sha1Hash: [UInt8] = []
    /// When the receipt was made. Its chain of certificates must have been valid then.
    public var creationDate: Date?
    public var downloadID: Int64?
    public var versionExternalIdentifier: Int64?
    public var originalPurchaseDate: Date?
    public var originalApplicationVersion: String?
    public var expirationDate: Date?
    /// In the receipt's order, which is not chronological.
    public var purchases: [InAppPurchase] = []
    /// Attributes that Apple does not document, by number; the values' octets in the receipt's order.
    public var unknownAttributes: [Int64: [[UInt8]]] = [:]

    public init() {}
}

/// One entry of an app receipt.
public struct InAppPurchase: Sendable, Hashable {
    public var quantity: Int64?
    public var productID: String?
    public var transactionID: String?
    public var purchaseDate: Date?
    public var originalTransactionID: String?
    public var originalPurchaseDate: Date?
    /// 0 non-consumable, 1 consumable, 2 non-renewing, 3 auto-renewable subscription.
    public var productType: Int64?
    /// The product's own id in the store; 0 in the sandbox.
    public var itemID: Int64?
    public var expiresDate: Date?
    public var webOrderLineItemID: Int64?
    public var cancellationDate: Date?
    public var isTrialPeriod: Bool?
    public var isInIntroOfferPeriod: Bool?
    public var promotionalOfferID: String?
    /// Names of fields that decide whether the purchase is owed, and that are there but can't be read.
    public var unreadableFields: [String] = []
    /// As in `AppReceipt`.
    public var unknownAttributes: [Int64: [[UInt8]]] = [:]

    public init() {}
}
