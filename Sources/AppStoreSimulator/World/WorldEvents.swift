import Foundation

/// A receipt that a client handed in, as `iap.submit_receipt` takes it.
struct Upload: Sendable {
    enum Content: Hashable, Sendable {
        case receipt(SimulatedReceipt)
        /// A receipt that was changed after it was signed.
        case forgery(SimulatedReceipt)
        /// What is no receipt at all.
        case text(String)

        /// What the client sends.
        func payload(_ signer: ReceiptSigner) -> String {
            switch self {
            case .receipt(let receipt): signer.encode(receipt)
            case .forgery(let receipt): signer.forge(receipt)
            case .text(let text): text
            }
        }
    }

    let bundleID: String
    let userID: String
    let content: Content
    let transactionID: String?
    let orderID: String?
    /// JSON text.
    let device: String
    let at: Date

    /// The genuine receipt that it is, if it is one.
    var receipt: SimulatedReceipt? {
        if case .receipt(let receipt) = content { receipt } else { nil }
    }
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
    let account: String
    let scenario: Scenario
}

/// Everything that happens in a story, or in the whole world.
struct WorldEvents: Sendable {
    var uploads: [Upload] = []
    var deliveries: [Delivery] = []
    var purchases: [Purchase] = []
    /// All that Apple has in its books, whether it was paid for or not.
    var stored: [StoredPurchase] = []
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
        stored += other.stored
        refunds += other.refunds
        subscriptions += other.subscriptions
        deletedAccounts += other.deletedAccounts
    }
}
