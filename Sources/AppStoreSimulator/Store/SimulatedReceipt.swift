public import Foundation

/// The content of a receipt: the unfinished consumables and everything lasting when it was made. Verifying it later
/// brings no newer consumables.
public struct SimulatedReceipt: Hashable, Sendable {
    /// The kind of proof. `verifyReceipt` reads the first two.
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
    /// Stands for the Apple account that bought; no answer shows anything of it.
    public var account: String
    public var createdAt: Date
    public var applicationVersion: String
    /// Exactly one, unless it is an app receipt.
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
    /// Identifies the download of the app; 0 if there is none.
    var downloadID: Int64 {
        Int64(StableHash.of("\(bundleID) \(account)".utf8) % 900_000_000_000_000) + 1
    }
}
