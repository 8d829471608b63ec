public import Foundation

/// A transaction with what screening decided of it.
public struct ScreenedTransaction: Hashable, Sendable {
    public let key: TransactionKey
    public private(set) var transaction: Transaction
    public private(set) var productType: ProductType?
    /// Why it is not owed; `nil` if it is.
    public private(set) var exclusion: Exclusion?
    /// Why it would not be owed without its refund; `nil` if it would be: Apple may have taken the refund back.
    public let exclusionBesides: Exclusion?
    public let foundBundleID: BundleID?
    public let source: Source
    /// When Apple said so.
    public let verifiedAt: Date
    /// When what Apple said was looked at, if that was later: a night that looks at a signature confirms the purchase.
    public let confirmedAt: Date?
    /// When the receipt from which Apple read it was made: see `VerifiedTransaction`.
    public let madeAt: Date?

    public init(
        subject: ScreeningSubject, source: Source, verifiedAt: Date, confirmedAt: Date? = nil, madeAt: Date? = nil
    ) {
        let transaction = subject.transaction
        self.key = TransactionKey(
            id: transaction.id, bundleID: subject.app.bundleID, environment: subject.environment)
        self.transaction = transaction
        self.productType = subject.productType
        self.exclusion = Screening.exclusion(of: subject)
        self.exclusionBesides = exclusion == .refunded ? Screening.exclusion(of: subject.unrefunded) : exclusion
        self.foundBundleID = exclusion == .foreignBundle ? subject.foundBundleID : nil
        self.source = source
        self.verifiedAt = verifiedAt
        self.confirmedAt = confirmedAt
        self.madeAt = madeAt
    }

    /// Whether this tells more of the same transaction than the other. Of one source, the later word tells more: it may
    /// take a refund back, unless it is read from an older receipt. Of several, a refund comes before none, as a poorer
    /// source may not tell it, unless a better one ends it; then the better source. An upgrade is never taken back,
    /// whoever tells of it.
    fileprivate func tellsMore(than other: ScreenedTransaction) -> Bool {
        // A run verifies all at one moment. What receipts tell is as old as they are.
        if source == other.source, (verifiedAt, toldAt) != (other.verifiedAt, other.toldAt) {
            let isLater = (verifiedAt, toldAt) > (other.verifiedAt, other.toldAt)
            return isLater ? !knowsLess(than: other) : other.knowsLess(than: self)
        }
        if isRefunded != other.isRefunded {
            return isRefunded ? !other.endsRefund(of: self) : endsRefund(of: other)
        }
        if transaction.isUpgraded != other.transaction.isUpgraded { return transaction.isUpgraded }
        return source > other.source
    }

    private var isRefunded: Bool { transaction.refundedAt != nil }

    /// From when what it tells is: not from before the refund that it holds, which Apple may add to an older receipt.
    private var toldAt: Date { max(madeAt ?? verifiedAt, transaction.refundedAt ?? .distantPast) }

    /// Whether this later word knows less than the other: of no refund because it is read from a receipt that was made
    /// before, or of no upgrade.
    private func knowsLess(than other: ScreenedTransaction) -> Bool {
        if isRefunded != other.isRefunded {
            return other.isRefunded && toldAt < other.toldAt
        }
        return other.transaction.isUpgraded && !transaction.isUpgraded
    }

    /// Whether this is a later word of Apple's, that there is no refund, and not from a receipt that was made before:
    /// what the ledger makes of it by `iap.ends_refund` if it hears of one after the other. A customer's history may
    /// lag behind what Apple told by itself (`iap.may_not_know`).
    private func endsRefund(of other: ScreenedTransaction) -> Bool {
        guard !isRefunded, let refundedAt = other.transaction.refundedAt else { return false }
        let told = madeAt ?? verifiedAt
        let refundTold = other.madeAt ?? other.verifiedAt
        return source > .local && source >= other.source && verifiedAt > max(other.verifiedAt, refundedAt)
            && told >= refundTold && (told >= refundedAt || told == refundTold)
            && (madeAt != nil || told > refundTold + 3600)
    }

    /// Takes over what only the other one says, as the ledger does if it hears of one after the other: `verifyReceipt`
    /// tells no price, but a signed transaction in the same batch does.
    fileprivate mutating func fillIn(from other: ScreenedTransaction) {
        productType = productType ?? other.productType
        transaction.expiresAt = transaction.expiresAt ?? other.transaction.expiresAt
        transaction.originalPurchasedAt = transaction.originalPurchasedAt ?? other.transaction.originalPurchasedAt
        transaction.webOrderLineItemID = transaction.webOrderLineItemID ?? other.transaction.webOrderLineItemID
        transaction.appAccountToken = transaction.appAccountToken ?? other.transaction.appAccountToken
        transaction.appTransactionID = transaction.appTransactionID ?? other.transaction.appTransactionID
        transaction.storefront = transaction.storefront ?? other.transaction.storefront
        transaction.price = transaction.price ?? other.transaction.price
        // An app receipt does not say who paid, and a signed transaction does.
        if transaction.ownership == nil, other.exclusion == .familyShared,
            exclusion?.rank ?? .max > Exclusion.familyShared.rank
        {
            transaction.ownership = other.transaction.ownership
            exclusion = .familyShared
        }
        // How much of the price went back only a signed transaction says: `verifyReceipt` tells the refund alone.
        if transaction.revocationType == nil, isRefundedTogether(with: other) {
            transaction.revocationType = other.transaction.revocationType
            transaction.revocationPercentage = other.transaction.revocationPercentage
        }
    }

    /// Whether both tell of one refund. Some of Apple's formats tell its time to the second.
    private func isRefundedTogether(with other: ScreenedTransaction) -> Bool {
        guard let mine = transaction.refundedAt, let theirs = other.transaction.refundedAt else { return false }
        return abs(mine.timeIntervalSince(theirs)) < 1
    }
}

extension [ScreenedTransaction] {
    /// What Apple told by itself of each transaction: its latest word, completed by what only earlier ones tell.
    public func latest() -> [ScreenedTransaction] {
        merged { $0.verifiedAt > $1.verifiedAt }
    }

    /// What tells the most of each transaction, completed by what only others tell. Each source is merged first, so
    /// that what it has taken back counts for nothing beside the others.
    func told() -> [ScreenedTransaction] {
        Set(map(\.source)).sorted()
            .flatMap { source in filter { $0.source == source }.merged { $0.tellsMore(than: $1) } }
            .merged { $0.tellsMore(than: $1) }
    }

    /// The best of each transaction, completed by what only others tell, in the order of their keys.
    private func merged(_ isBetter: (ScreenedTransaction, ScreenedTransaction) -> Bool) -> [ScreenedTransaction] {
        var best: [ScreenedTransaction] = []
        best.reserveCapacity(count)
        var indices: [TransactionKey: Int] = [:]
        indices.reserveCapacity(count)
        var others: [ScreenedTransaction] = []
        for heard in self {
            guard let index = indices[heard.key] else {
                indices[heard.key] = best.count
                best.append(heard)
                continue
            }
            let isBest = isBetter(heard, best[index])
            others.append(isBest ? best[index] : heard)
            if isBest { best[index] = heard }
        }
        for other in others.sorted(by: isBetter) {
            if let index = indices[other.key] { best[index].fillIn(from: other) }
        }
        // Sorting moves numbers faster than what they stand for.
        return best.indices.sorted { best[$0].key < best[$1].key }.map { best[$0] }
    }
}
