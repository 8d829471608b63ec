public import Foundation

/// A transaction as one receipt showed it: what the Ledger stages.
public struct SightedTransaction: Hashable, Sendable {
    public let screened: ScreenedTransaction
    public let receiptID: Int64
    public let userID: String?
    public let orderID: String?
    public let isNamed: Bool
    /// Whether the receipt holds it; otherwise Apple told of it in the history of the receipt's customer.
    public let isInReceipt: Bool
    public let uploadedAt: Date

    /// - Parameter isOwnProof: whether the receipt is the proof of this purchase alone.
    public init(
        _ screened: ScreenedTransaction, receipt: InboxReceipt, isInReceipt: Bool = true, isOwnProof: Bool = false
    ) {
        self.screened = screened
        receiptID = receipt.id
        userID = receipt.userID
        orderID = receipt.orderID(for: screened.key.id)
        isNamed = receipt.isNamed(screened.key.id) || (isOwnProof && receipt.namesNothing)
        self.isInReceipt = isInReceipt
        uploadedAt = receipt.submittedAt
    }
}

extension [SightedTransaction] {
    /// What is heard of each transaction: the sighting that tells the most of it, completed by what only others tell,
    /// in the order of their keys, in which the ledger locks rows. The numbers say which of these transactions each
    /// sighting is of.
    public func heard() -> (transactions: [ScreenedTransaction], numbers: [Int32]) {
        // Sorting moves numbers faster than what they stand for.
        let order = indices.sorted { self[$0].screened.key < self[$1].screened.key }
        var transactions: [ScreenedTransaction] = []
        transactions.reserveCapacity(count)
        var numbers = [Int32](repeating: 0, count: count)
        var rest = order[...]
        while let first = rest.first {
            let sightings = rest.prefix { self[$0].screened.key == self[first].screened.key }
            for sighting in sightings { numbers[sighting] = Int32(truncatingIfNeeded: transactions.count) }
            rest = rest.dropFirst(sightings.count)
            if sightings.count == 1 {
                transactions.append(self[first].screened)
            } else {
                transactions += sightings.map { self[$0].screened }.told()
            }
        }
        return (transactions, numbers)
    }
}
