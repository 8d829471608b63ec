/// How an app's server keeps what it has delivered of a product type.
public enum DeliveryMode: String, Hashable, Sendable, Codable, CaseIterable {
    /// Each purchase is claimed (`iap.claim`).
    case claim
    /// The server keeps until when it has granted access (`iap.entitle`): a subscription is one purchase, whatever the
    /// number of its periods.
    case entitlement
    /// Purchases are counted and not looked at, and are no cases.
    case ignore

    /// Every type is claimed.
    public static let allClaimed = Dictionary(
        uniqueKeysWithValues: ProductType.allCases.map { ($0, DeliveryMode.claim) })
}
