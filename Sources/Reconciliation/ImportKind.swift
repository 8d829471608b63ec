/// What a company's own history may hold, each in a file of its own.
public enum ImportKind: String, CaseIterable, Sendable {
    /// What clients once uploaded: the inbox.
    case receipts
    /// The app's own orders.
    case orders
    /// Transactions whose goods were delivered: the black table.
    case delivered
    /// What was granted of subscriptions, and until when.
    case entitlements
    /// What the apps sell.
    case products

    /// Whether it tells what was delivered. Without it nobody knows what is lost.
    public var tellsOfDeliveries: Bool {
        switch self {
        case .delivered, .entitlements: true
        case .receipts, .orders, .products: false
        }
    }
}
