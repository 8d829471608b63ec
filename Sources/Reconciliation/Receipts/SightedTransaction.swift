public import Foundation

/// A screened transaction as one receipt showed it: what the Ledger stages.
public struct SightedTransaction: Hashable, Sendable {
    public let key: TransactionKey
    public private(set) var transaction: Transaction
    public private(set) var productType: ProductType?
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

    /// Takes over what only the other one says, as the ledger does where it hears of one after the other: `verifyReceipt`
    /// tells no price, and a signed transaction in the same batch does.
    mutating func fillIn(from other: SightedTransaction) {
        productType = productType ?? other.productType
        transaction.expiresAt = transaction.expiresAt ?? other.transaction.expiresAt
        transaction.originalPurchasedAt = transaction.originalPurchasedAt ?? other.transaction.originalPurchasedAt
        transaction.webOrderLineItemID = transaction.webOrderLineItemID ?? other.transaction.webOrderLineItemID
        transaction.appAccountToken = transaction.appAccountToken ?? other.transaction.appAccountToken
        transaction.storefront = transaction.storefront ?? other.transaction.storefront
        transaction.price = transaction.price ?? other.transaction.price
    }
}

extension [SightedTransaction] {
    /// What is heard of each transaction: the sighting that tells the most of it, with what only others tell; in the
    /// order of their keys, in which the ledger locks rows.
    public func heard() -> [SightedTransaction] {
        var best: [TransactionKey: SightedTransaction] = [:]
        best.reserveCapacity(count)
        var others: [SightedTransaction] = []
        for sighting in self {
            guard let known = best[sighting.key] else {
                best[sighting.key] = sighting
                continue
            }
            let isBetter = sighting.tellsMore(than: known)
            if isBetter { best[sighting.key] = sighting }
            others.append(isBetter ? known : sighting)
        }
        for other in others.sorted(by: { $0.tellsMore(than: $1) }) { best[other.key]?.fillIn(from: other) }
        return best.values.sorted { $0.key < $1.key }
    }
}
