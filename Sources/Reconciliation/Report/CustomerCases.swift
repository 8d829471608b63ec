public import Foundation

/// The open cases of one customer who has several: one user's of one app, where nothing speaks for anybody else.
public struct CustomerCases: Hashable, Sendable {
    public let bundleID: BundleID
    public let userID: String
    public let count: Int
    /// Of the likeliest of them.
    public let likelihood: Likelihood
    public let oldestPurchase: Date
    /// Their sums, by currency.
    public let money: [Money]
    /// How many have no known price.
    public let unpriced: Int

    public init(
        bundleID: BundleID, userID: String, count: Int, likelihood: Likelihood, oldestPurchase: Date, money: [Money],
        unpriced: Int
    ) {
        self.bundleID = bundleID
        self.userID = userID
        self.count = count
        self.likelihood = likelihood
        self.oldestPurchase = oldestPurchase
        self.money = money
        self.unpriced = unpriced
    }
}
