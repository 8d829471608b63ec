public import Foundation

/// The open cases of a customer who has several: one user's in one app, if there is no evidence for anybody else.
public struct CustomerCases: Hashable, Sendable {
    public let bundleID: BundleID
    public let userID: String
    public let count: Int
    /// That of the likeliest case.
    public let likelihood: Likelihood
    public let oldestPurchase: Date
    /// The sums of their prices, by currency.
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
