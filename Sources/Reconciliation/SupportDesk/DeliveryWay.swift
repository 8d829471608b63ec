/// By whom, or by what, a transaction's goods were delivered, as `iap.transactions.delivered_by` has it.
public enum DeliveryWay: String, Hashable, Sendable, CaseIterable {
    /// By the app's server.
    case claim
    /// By a grant of the app's server.
    case entitlement
    /// By the support desk.
    case resolved
    /// By the company's own path, as an import or a source says.
    case imported = "import"
}
