/// What a screening rule looks at.
public struct ScreeningSubject: Hashable, Sendable {
    public let transaction: Transaction
    /// The environment that Apple verified the receipt in.
    public let environment: Environment
    /// The bundle id that the receipt names; `nil` if Apple's answer has none.
    public let foundBundleID: BundleID?
    /// The app that the receipt was handed in for.
    public let app: App
    /// The type of the product, as Apple or the table `products` tells it.
    public let productType: ProductType?
    /// Whether the purchase that this one restores, or the period of a subscription that it is, is in the ledger under
    /// another transaction id.
    public let isOriginalKnown: Bool

    public init(
        transaction: Transaction, environment: Environment, foundBundleID: BundleID?, app: App,
        productType: ProductType?, isOriginalKnown: Bool
    ) {
        self.transaction = transaction
        self.environment = environment
        self.foundBundleID = foundBundleID
        self.app = app
        self.productType = productType
        self.isOriginalKnown = isOriginalKnown
    }
}

extension ScreeningSubject {
    /// Whether it may come back under another id, or with another date, when the customer restores what they bought. A
    /// purchase of unknown type may, too, unless it expires.
    public static func isRestorable(_ transaction: Transaction, of type: ProductType?) -> Bool {
        type == .nonConsumable || (type == nil && transaction.expiresAt == nil)
    }

    /// The same without a refund.
    var unrefunded: ScreeningSubject {
        var transaction = self.transaction
        transaction.refundedAt = nil
        return ScreeningSubject(
            transaction: transaction, environment: environment, foundBundleID: foundBundleID, app: app,
            productType: productType, isOriginalKnown: isOriginalKnown)
    }

    var isRestorable: Bool { Self.isRestorable(transaction, of: productType) }
}

/// The condition for one exclusion.
struct ScreeningRule: Sendable {
    let applies: @Sendable (ScreeningSubject) -> Bool

    init(_ applies: @escaping @Sendable (ScreeningSubject) -> Bool) {
        self.applies = applies
    }
}

extension Exclusion {
    fileprivate var rule: ScreeningRule {
        switch self {
        case .foreignBundle: .foreignBundle
        case .sandbox: .sandbox
        case .familyShared: .familyShared
        case .refunded: .refunded
        case .upgraded: .upgraded
        case .invalidQuantity: .invalidQuantity
        case .beforeStart: .beforeStart
        case .restored: .restored
        }
    }
}

/// Decides where a verified transaction belongs.
public enum Screening {
    /// Why the transaction is not owed; `nil` if it is.
    public static func exclusion(of subject: ScreeningSubject) -> Exclusion? {
        Exclusion.allCases.first { $0.rule.applies(subject) }
    }
}
