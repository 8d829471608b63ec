public import Foundation

/// What a receipt says: the unfinished consumables and everything lasting at the moment it was made. Verifying it
/// later brings no newer consumables.
public struct SimulatedReceipt: Hashable, Sendable {
    /// The two kinds of receipt that `verifyReceipt` reads.
    public enum Style: String, Hashable, Sendable {
        case appReceipt = "app"
        /// One transaction, answered flat, as before iOS 7.
        case transactionReceipt = "ios6"
    }

    public var style: Style
    public var bundleID: String
    public var environment: StoreEnvironment
    /// Stands for the Apple account that bought; nothing of it is in an answer.
    public var account: String
    public var createdAt: Date
    public var applicationVersion: String
    /// An iOS 6 style receipt holds exactly one.
    public var transactions: [SimulatedTransaction]

    public init(
        style: Style = .appReceipt, bundleID: String, environment: StoreEnvironment = .production,
        account: String = "", createdAt: Date, applicationVersion: String = "1.4.2",
        transactions: [SimulatedTransaction]
    ) {
        self.style = style
        self.bundleID = bundleID
        self.environment = environment
        self.account = account
        self.createdAt = createdAt
        self.applicationVersion = applicationVersion
        self.transactions = transactions
    }
}
