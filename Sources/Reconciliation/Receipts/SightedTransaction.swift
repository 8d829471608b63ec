public import Foundation

/// A screened transaction as one receipt showed it: what the Ledger stages.
public struct SightedTransaction: Hashable, Sendable {
    public let key: TransactionKey
    public let transaction: Transaction
    public let productType: ProductType?
    /// Why it is not owed; `nil` when it is.
    public let exclusion: Exclusion?
    public let foundBundleID: BundleID?
    public let source: Source
    public let verifiedAt: Date
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
        let transaction = subject.transaction
        self.key = TransactionKey(
            id: transaction.id, bundleID: subject.app.bundleID, environment: subject.environment)
        self.transaction = transaction
        self.productType = subject.productType
        self.exclusion = Screening.exclusion(of: subject)
        self.foundBundleID = exclusion == .foreignBundle ? subject.foundBundleID : nil
        self.source = source
        self.verifiedAt = verifiedAt
        self.receiptID = receipt.id
        self.userID = receipt.userID
        self.orderID = receipt.orderID(for: transaction.id)
        self.isNamed = receipt.isNamed(transaction.id)
        self.isInReceipt = isInReceipt
        self.uploadedAt = receipt.submittedAt
    }

    /// Whether this sighting tells more of the same transaction than that one: a refund before none, then the
    /// better source, then the later word.
    func tellsMore(than other: SightedTransaction) -> Bool {
        let isRefund = transaction.refundedAt != nil
        if isRefund != (other.transaction.refundedAt != nil) { return isRefund }
        if source != other.source { return source > other.source }
        return verifiedAt > other.verifiedAt
    }
}

extension [SightedTransaction] {
    /// For each transaction, the index of the sighting that tells the most of it.
    public func bestSightings() -> Set<Int> {
        var best: [TransactionKey: Int] = [:]
        best.reserveCapacity(count)
        for index in indices {
            if let known = best[self[index].key], !self[index].tellsMore(than: self[known]) { continue }
            best[self[index].key] = index
        }
        return Set(best.values)
    }
}
