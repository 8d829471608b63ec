public import Foundation

/// A product that was bought, and whose price neither Apple nor the table `products` tells.
public struct UnpricedProduct: Hashable, Sendable {
    public let bundleID: BundleID
    public let productID: ProductID
    /// As Apple or the table `products` says; `nil` if neither does.
    public let type: ProductType?
    /// As the table `products` has it.
    public let name: String?
    public let transactions: Int
    /// When it was bought first, and last.
    public let first: Date
    public let last: Date

    public init(
        bundleID: BundleID, productID: ProductID, type: ProductType?, name: String?, transactions: Int, first: Date,
        last: Date
    ) {
        self.bundleID = bundleID
        self.productID = productID
        self.type = type
        self.name = name
        self.transactions = transactions
        self.first = first
        self.last = last
    }
}
