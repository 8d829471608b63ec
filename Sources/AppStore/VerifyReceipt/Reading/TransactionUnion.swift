/// Unites the rows of an answer by transaction id.
///
/// Neither `in_app` nor `latest_receipt_info` contains the other: a consumable is only in the first, a later renewal
/// only in the second. A row of the second may also have fields that the same transaction lacks in the first.
struct TransactionUnion {
    private(set) var unusableRows: [String] = []
    private var united: [(row: TransactionRow, place: String)] = []
    private var indexByID: [String: Int] = [:]

    /// How many different transactions were added.
    var count: Int { united.count }

    /// Adds the rows of the list with this name. If a transaction is in several rows, what was read first stays.
    ///
    /// - Parameter isToldNow: whether Apple adds the list to what stands in the receipt.
    mutating func add(_ rows: [TransactionRow], from list: String, isToldNow: Bool = false) {
        for (index, var row) in rows.enumerated() {
            row.isToldNow = isToldNow
            let place = "\(list)[\(index)]"
            guard let id = row.transactionID else {
                unusableRows.append("\(place): transaction_id is missing")
                continue
            }
            if let known = indexByID[id] {
                united[known].row.fill(from: row)
            } else {
                indexByID[id] = united.count
                united.append((row, place))
            }
        }
    }

    /// Notes something that could not be read at all.
    mutating func note(_ sentence: String) {
        unusableRows.append(sentence)
    }

    /// The transactions in the order in which they were added; a row that can't be one is noted.
    mutating func transactions() -> [AppStoreTransaction] {
        var transactions: [AppStoreTransaction] = []
        transactions.reserveCapacity(united.count)
        for (row, place) in united {
            switch row.transaction {
            case .success(let transaction): transactions.append(transaction)
            case .failure(let flaw): unusableRows.append("\(place): \(flaw.text)")
            }
        }
        return transactions
    }
}

/// Why a row can't be a transaction, with the name of the field.
struct RowFlaw: Error {
    let text: String
}

extension TransactionRow {
    /// Fills in from another row of the same transaction what this row leaves out. A refund or an upgrade in either one
    /// wins, for Apple may have put it in only one of the lists.
    mutating func fill(from other: TransactionRow) {
        quantity = quantity.filled(from: other.quantity)
        let keepsRefund = cancellationDate.value != nil && other.cancellationDate.value == nil
        isToldNow = isToldNow || (other.isToldNow && !keepsRefund)
        cancellationDate = cancellationDate.filled(from: other.cancellationDate)
        isUpgraded = (isUpgraded ?? false) || (other.isUpgraded ?? false)
        originalTransactionID = originalTransactionID ?? other.originalTransactionID
        productID = productID ?? other.productID
        purchaseDate = purchaseDate ?? other.purchaseDate
        originalPurchaseDate = originalPurchaseDate ?? other.originalPurchaseDate
        expiresDate = expiresDate.filled(from: other.expiresDate)
        cancellationReason = cancellationReason ?? other.cancellationReason
        ownershipType = ownershipType ?? other.ownershipType
        isTrialPeriod = isTrialPeriod ?? other.isTrialPeriod
        isInIntroOfferPeriod = isInIntroOfferPeriod ?? other.isInIntroOfferPeriod
        webOrderLineItemID = webOrderLineItemID ?? other.webOrderLineItemID
        appAccountToken = appAccountToken ?? other.appAccountToken
        promotionalOfferID = promotionalOfferID ?? other.promotionalOfferID
        offerCodeRefName = offerCodeRefName ?? other.offerCodeRefName
        subscriptionGroupID = subscriptionGroupID ?? other.subscriptionGroupID
    }

    /// The transaction that the row describes, or the field that keeps it from being one.
    var transaction: Result<AppStoreTransaction, RowFlaw> {
        guard let transactionID else { return .failure(RowFlaw(text: "transaction_id is missing")) }
        guard let productID else { return flaw("product_id is missing") }
        guard let purchaseDate else { return flaw("purchase_date is missing or can't be read") }
        if case .unreadable = quantity { return flaw("quantity can't be read") }
        if case .unreadable = cancellationDate { return flaw("cancellation_date can't be read") }
        if case .unreadable = expiresDate { return flaw("expires_date can't be read") }
        // Every product that can be bought in numbers comes with a quantity, so a missing one means 1.
        var transaction = AppStoreTransaction(
            transactionID: transactionID, originalTransactionID: originalTransactionID, productID: productID,
            quantity: quantity.value ?? 1, purchaseDate: purchaseDate)
        describe(&transaction)
        return .success(transaction)
    }

    private func flaw(_ text: String) -> Result<AppStoreTransaction, RowFlaw> {
        .failure(RowFlaw(text: transactionID.map { "transaction \($0.prefix(40)): \(text)" } ?? text))
    }

    private func describe(_ transaction: inout AppStoreTransaction) {
        transaction.originalPurchaseDate = originalPurchaseDate
        transaction.expiresDate = expiresDate.value
        // Of what was upgraded it is the moment of that, and no refund; nor has the App Store Server API one for it:
        // https://developer.apple.com/documentation/appstorereceipts/cancellation_date_ms.
        if isUpgraded != true {
            transaction.cancellationDate = cancellationDate.value
            transaction.cancellationReason = cancellationReason
        }
        transaction.isToldNow = isToldNow
        transaction.ownershipType = ownershipType
        transaction.isTrialPeriod = isTrialPeriod ?? false
        transaction.isInIntroOfferPeriod = isInIntroOfferPeriod ?? false
        transaction.isUpgraded = isUpgraded ?? false
        transaction.webOrderLineItemID = webOrderLineItemID
        transaction.appAccountToken = appAccountToken
        transaction.promotionalOfferID = promotionalOfferID
        transaction.offerCodeRefName = offerCodeRefName
        transaction.subscriptionGroupID = subscriptionGroupID
    }
}
