/// Why a signed transaction can't be used as one: the names of the fields that are missing or can't be read.
public struct UnusableTransaction: Error, Sendable, Hashable, CustomStringConvertible {
    public let transactionID: String?
    public let missing: [String]
    public let unreadable: [String]

    public var description: String {
        let flaws = missing.map { "\($0) is missing" } + unreadable.map { "\($0) can't be read" }
        return "transaction \(transactionID.map { String($0.prefix(40)) } ?? "(no id)"): "
            + flaws.joined(separator: ", ")
    }
}

extension SignedTransaction {
    /// The purchase that was signed, in the form that all of Apple's proofs share.
    ///
    /// - Throws: if it has no id, product or purchase date, or if a quantity or a date that matters can't be read: that
    ///   must not pass for no refund or no expiry, or for a quantity of one.
    public func transaction() throws(UnusableTransaction) -> AppStoreTransaction {
        guard let transactionID, let productID, let purchaseDate, unreadableFields.isEmpty else {
            let needed = [
                ("transactionId", transactionID == nil), ("productId", productID == nil),
                ("purchaseDate", purchaseDate == nil && !unreadableFields.contains("purchaseDate")),
            ]
            throw UnusableTransaction(
                transactionID: transactionID, missing: needed.filter(\.1).map(\.0), unreadable: unreadableFields)
        }
        var transaction = AppStoreTransaction(
            transactionID: transactionID, originalTransactionID: originalTransactionID, productID: productID,
            quantity: quantity ?? 1, purchaseDate: purchaseDate)
        describe(&transaction)
        return transaction
    }

    private func describe(_ transaction: inout AppStoreTransaction) {
        transaction.originalPurchaseDate = originalPurchaseDate
        transaction.expiresDate = expiresDate
        transaction.cancellationDate = revocationDate
        transaction.cancellationReason = revocationReason
        transaction.revocationType = revocationType
        transaction.revocationPercentage = revocationPercentage
        transaction.ownershipType = ownershipType
        transaction.isTrialPeriod = offerDiscountType == "FREE_TRIAL"
        transaction.isInIntroOfferPeriod = offerType == 1 && offerDiscountType != "FREE_TRIAL"
        transaction.isUpgraded = isUpgraded
        transaction.webOrderLineItemID = webOrderLineItemID
        transaction.appAccountToken = appAccountToken
        transaction.appTransactionID = appTransactionID
        transaction.promotionalOfferID = offerType == 2 ? offerID : nil
        transaction.offerCodeRefName = offerType == 3 ? offerID : nil
        transaction.subscriptionGroupID = subscriptionGroupID
        transaction.productType = type
        transaction.priceMilliunits = priceMilliunits
        transaction.currency = currency
        transaction.storefront = storefront
    }
}
