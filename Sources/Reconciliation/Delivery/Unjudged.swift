/// Paid purchases of a product type that are not looked at, and so are no cases.
public struct Unjudged: Hashable, Sendable, Codable {
    /// Why they are not looked at.
    public enum Cause: String, Hashable, Sendable, Codable, CaseIterable {
        /// The app never delivered anything of the type in a way that the job sees.
        case notConnected = "not_connected"
        /// They were bought before the app was connected.
        case beforeConnected = "before_connected"
        /// The configuration says so.
        case ignored
    }

    public let bundleID: BundleID
    /// `nil` if nobody knows the type.
    public let productType: ProductType?
    public let cause: Cause
    public let transactions: Int
    /// How many users handed them in.
    public let customers: Int
    /// By currency, as far as prices are known.
    public let money: [Money]
    /// How many the money leaves out, as their price is not known.
    public let unpriced: Int

    public init(
        bundleID: BundleID, productType: ProductType?, cause: Cause, transactions: Int, customers: Int,
        money: [Money], unpriced: Int
    ) {
        self.bundleID = bundleID
        self.productType = productType
        self.cause = cause
        self.transactions = transactions
        self.customers = customers
        self.money = money
        self.unpriced = unpriced
    }
}
