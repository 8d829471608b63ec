public import Foundation

/// What a receipt says: the unfinished consumables and everything lasting at the moment it was made. Verifying it
/// later brings no newer consumables.
public struct SimulatedReceipt: Hashable, Sendable {
    /// What kind of proof it is. `verifyReceipt` reads the first two.
    public enum Style: Hashable, Sendable {
        case appReceipt
        /// One transaction, answered flat, as before iOS 7.
        case transactionReceipt
        /// One transaction, as StoreKit 2 signs it (JWS).
        case signedTransaction
    }

    public var style: Style
    public var bundleID: String
    public var environment: StoreEnvironment
    /// Stands for the Apple account that bought; nothing of it is in an answer.
    public var account: String
    public var createdAt: Date
    public var applicationVersion: String
    /// Any style but an app receipt holds exactly one.
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

extension SimulatedReceipt {
    /// Says which download of the app it is; what has none, has 0.
    var downloadID: Int64 {
        Int64(StableHash.of("\(bundleID) \(account)".utf8) % 900_000_000_000_000) + 1
    }
}
