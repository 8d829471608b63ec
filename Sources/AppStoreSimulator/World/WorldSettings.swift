public import Foundation

/// What a world depends on: the same settings make the same world, in any process.
public struct WorldSettings: Hashable, Sendable {
    public let seed: UInt64
    public let customers: Int
    /// Over how many days they buy.
    public let days: Int
    /// The end of the world, in whole seconds.
    public let now: Date
    /// Whether some clients hand in signed transactions of StoreKit 2 (S25), which `verifyReceipt` can't read.
    public let hasSignedTransactions: Bool
    /// One of so many customers meets with something out of the ordinary.
    public let rarity: Int

    /// Throws when there are fewer than three days: some losses take two to happen.
    public init(
        seed: UInt64, customers: Int, days: Int, now: Date, hasSignedTransactions: Bool = false, rarity: Int = 15
    ) throws(SimulatorError) {
        guard customers >= 0, customers <= 10_000_000 else {
            throw .invalidOption("a world has from 0 to 10000000 customers")
        }
        guard days >= 3, days <= 3650 else { throw .invalidOption("a world lasts from 3 to 3650 days") }
        guard rarity >= 1 else { throw .invalidOption("one of 1 customer or of more meets with something") }
        self.seed = seed
        self.customers = customers
        self.days = days
        self.hasSignedTransactions = hasSignedTransactions
        self.rarity = rarity
        self.now = Date(timeIntervalSince1970: now.timeIntervalSince1970.rounded(.down))
    }
}
