import Foundation

/// A receipt that a client handed in, as `iap.submit_receipt` takes it.
struct Upload: Sendable {
    let bundleID: String
    let userID: String
    let payload: String
    /// What the payload says; nothing for one that can't be read, or whose account is gone.
    let receipt: SimulatedReceipt?
    let transactionID: String?
    let orderID: String?
    /// JSON text.
    let device: String
    let at: Date
}

/// The app's server admits a transaction and claims it.
struct Delivery: Sendable {
    let bundleID: String
    let transaction: SimulatedTransaction
    let userID: String
    let orderID: String?
    /// The number of the upload that brought it, within the same events.
    var upload: Int
    let at: Date
    /// Whether the claim's database transaction failed in the end.
    let isRolledBack: Bool
}

/// A purchase with what the world knows of it and no server does.
struct Purchase: Sendable {
    let bundleID: String
    let transaction: SimulatedTransaction
    /// Who paid.
    let userID: String
    let scenario: Scenario
}

/// Everything that happens in a story, or in the whole world.
struct WorldEvents: Sendable {
    var uploads: [Upload] = []
    var deliveries: [Delivery] = []
    var purchases: [Purchase] = []
    var refunds: [(transactionID: String, refund: Refund)] = []
    var subscriptions: [Subscription] = []
    var deletedAccounts: [String] = []

    /// Adds another's events after these.
    mutating func append(_ other: WorldEvents) {
        let offset = uploads.count
        uploads += other.uploads
        deliveries += other.deliveries.map { delivery in
            var delivery = delivery
            delivery.upload += offset
            return delivery
        }
        purchases += other.purchases
        refunds += other.refunds
        subscriptions += other.subscriptions
        deletedAccounts += other.deletedAccounts
    }
}
