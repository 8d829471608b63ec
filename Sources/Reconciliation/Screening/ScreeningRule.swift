/// What a screening rule looks at.
public struct ScreeningSubject: Hashable, Sendable {
    public let transaction: Transaction
    /// The environment that Apple verified the receipt in.
    public let environment: Environment
    /// The bundle id that the receipt names; `nil` where Apple's answer has none.
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
    /// Whether it may come back under another id, or with another date, when the customer restores what they bought: what
    /// nobody knows the type of does, too, unless it expires.
    public static func isRestorable(_ transaction: Transaction, of type: ProductType?) -> Bool {
        type == .nonConsumable || (type == nil && transaction.expiresAt == nil)
    }

    var isRestorable: Bool { Self.isRestorable(transaction, of: productType) }
}

/// One reason for which a verified transaction is not owed, and the condition for it.
public struct ScreeningRule: Sendable {
    let exclusion: Exclusion
    let applies: @Sendable (ScreeningSubject) -> Bool

    init(_ exclusion: Exclusion, applies: @escaping @Sendable (ScreeningSubject) -> Bool) {
        self.exclusion = exclusion
        self.applies = applies
    }

    /// Every rule, in the order in which they are asked: the first that applies names the reason.
    static let all: [ScreeningRule] = [
        .foreignBundle, .sandbox, .familyShared, .refunded, .upgraded, .invalidQuantity, .beforeStart, .restored,
    ]
}

/// Decides where a verified transaction belongs.
public enum Screening {
    /// Why the transaction is not owed; `nil` when it is.
    public static func exclusion(of subject: ScreeningSubject) -> Exclusion? {
        ScreeningRule.all.first { $0.applies(subject) }?.exclusion
    }
}
