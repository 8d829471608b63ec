import Foundation

extension AppReceipt {
    /// `Production` or `Sandbox`, as `verifyReceipt` would say it; `Xcode` for a receipt that Xcode made; otherwise the
    /// receipt's own word. `nil` if the receipt doesn't say its type: then nobody knows.
    public var environment: String? {
        switch receiptType {
        case "Production", "ProductionVPP": "Production"
        case "ProductionSandbox", "ProductionVPPSandbox": "Sandbox"
        default: receiptType
        }
    }

    /// The receipt in the shape of the answer that `verifyReceipt` gives for it.
    ///
    /// Entries that can't be a transaction are listed in `unusableRows`. If a transaction has several, what was read
    /// first stays, and a refund in any of them counts. If the receipt doesn't say its type, the answer's environment is
    /// empty, which is neither of Apple's.
    public var answer: VerifiedReceiptAnswer {
        var answer = VerifiedReceiptAnswer(environment: environment ?? "")
        answer.bundleID = bundleID
        answer.receiptType = receiptType
        answer.applicationVersion = applicationVersion
        answer.receiptCreationDate = creationDate
        var indexByID: [String: Int] = [:]
        for (index, purchase) in purchases.enumerated() {
            switch purchase.transaction {
            case .success(let transaction):
                if let known = indexByID[transaction.transactionID] {
                    answer.transactions[known].cancellationDate =
                        answer.transactions[known].cancellationDate ?? transaction.cancellationDate
                } else {
                    indexByID[transaction.transactionID] = answer.transactions.count
                    answer.transactions.append(transaction)
                }
            case .failure(let flaw): answer.unusableRows.append("in_app[\(index)]: \(flaw.text)")
            }
        }
        return answer
    }
}

extension InAppPurchase {
    /// The entry as a transaction, or the field that keeps it from being one.
    var transaction: Result<AppStoreTransaction, RowFlaw> {
        guard unreadableFields.isEmpty else {
            return .failure(RowFlaw(text: "\(unreadableFields.joined(separator: ", ")) can't be read"))
        }
        guard let transactionID, !transactionID.isEmpty else {
            return .failure(RowFlaw(text: "transaction_id is missing"))
        }
        guard let productID, !productID.isEmpty else { return .failure(RowFlaw(text: "product_id is missing")) }
        guard let purchaseDate else { return .failure(RowFlaw(text: "purchase_date is missing")) }
        // Every product that can be bought in numbers comes with a quantity, so a missing one means 1.
        var transaction = AppStoreTransaction(
            transactionID: transactionID, originalTransactionID: originalTransactionID, productID: productID,
            quantity: Int(quantity ?? 1), purchaseDate: purchaseDate)
        transaction.originalPurchaseDate = originalPurchaseDate
        transaction.expiresDate = expiresDate
        transaction.cancellationDate = cancellationDate
        transaction.isTrialPeriod = isTrialPeriod ?? false
        transaction.isInIntroOfferPeriod = isInIntroOfferPeriod ?? false
        // For what is not a subscription, this is 0.
        transaction.webOrderLineItemID = webOrderLineItemID.flatMap { $0 == 0 ? nil : String($0) }
        transaction.promotionalOfferID = promotionalOfferID
        transaction.productType = productTypeName
        return .success(transaction)
    }

    /// The kind of product as signed transactions name it; an unknown number stays a number.
    private var productTypeName: String? {
        switch productType {
        case nil: nil
        case 0: "Non-Consumable"
        case 1: "Consumable"
        case 2: "Non-Renewing Subscription"
        case 3: "Auto-Renewable Subscription"
        case .some(let number): String(number)
        }
    }
}
