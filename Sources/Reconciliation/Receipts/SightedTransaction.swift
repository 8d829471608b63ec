public import Foundation

/// A transaction as one receipt showed it: what the Ledger stages.
public struct SightedTransaction: Hashable, Sendable {
    public let screened: ScreenedTransaction
    public let receiptID: Int64
    public let userID: String?
    public let orderID: String?
    public let isNamed: Bool
    /// Whether the receipt holds it; otherwise Apple told it of the customer who is known by the receipt.
    public let isInReceipt: Bool
    public let uploadedAt: Date

    public init(
        subject: ScreeningSubject, receipt: InboxReceipt, source: Source, isInReceipt: Bool = true, verifiedAt: Date
    ) {
        screened = ScreenedTransaction(subject: subject, source: source, verifiedAt: verifiedAt)
        receiptID = receipt.id
        userID = receipt.userID
        orderID = receipt.orderID(for: screened.key.id)
        isNamed = receipt.isNamed(screened.key.id)
        self.isInReceipt = isInReceipt
        uploadedAt = receipt.submittedAt
    }
}

extension [SightedTransaction] {
    /// What is heard of each transaction: the sighting that tells the most of it, with what only others tell; in the
    /// order of their keys, in which the ledger locks rows.
    public func heard() -> [ScreenedTransaction] {
        map(\.screened).merged { $0.tellsMore(than: $1) }
    }
}
