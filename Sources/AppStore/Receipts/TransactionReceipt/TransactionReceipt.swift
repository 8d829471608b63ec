public import Foundation

/// The content of an iOS 6 style receipt: its one transaction.
public struct TransactionReceipt: Sendable, Hashable {
    /// What was signed, as written: `transaction-id`, `product-id`, `purchase-date-ms`, `bid` …
    public let fields: [String: String]
    /// The environment named outside the signed part, where anybody may change it; left out in production.
    public let claimedEnvironment: String?

    public var bundleID: String? { fields["bid"] }
    public var applicationVersion: String? { fields["bvrs"] }
    public var purchaseDate: Date? { date("purchase-date-ms", "purchase-date") }

    /// `Production` if the signed part holds the app's id in the store, which Apple writes only there; `Sandbox` if the
    /// receipt claims that and nothing contradicts it. Otherwise `nil`: it is too easy to turn a sandbox receipt into
    /// one of production by leaving the claim out.
    public var environment: String? {
        let isOfStore = fields["app-item-id"].map { !$0.isEmpty && $0 != "0" } ?? false
        switch (isOfStore, claimedEnvironment) {
        case (true, nil), (true, "Production"): return "Production"
        case (false, "Sandbox"): return "Sandbox"
        default: return nil
        }
    }

    /// The receipt in the shape of the answer that `verifyReceipt` gives for it. If the environment is unknown, the
    /// answer's is empty, which is neither of Apple's.
    public var answer: VerifiedReceiptAnswer {
        var answer = VerifiedReceiptAnswer(environment: environment ?? "")
        answer.bundleID = bundleID
        answer.applicationVersion = applicationVersion
        answer.isFlat = true
        switch transaction {
        case .success(let transaction): answer.transactions = [transaction]
        case .failure(let flaw): answer.unusableRows = ["receipt: \(flaw.text)"]
        }
        return answer
    }

    private var transaction: Result<AppStoreTransaction, RowFlaw> {
        guard let id = text("transaction-id") else { return .failure(RowFlaw(text: "transaction-id is missing")) }
        guard let productID = text("product-id") else { return .failure(RowFlaw(text: "product-id is missing")) }
        guard let purchaseDate else {
            return .failure(RowFlaw(text: "purchase-date is missing or can't be read"))
        }
        guard let quantity = text("quantity").map(Int.init) ?? 1 else {
            return .failure(RowFlaw(text: "quantity can't be read"))
        }
        var transaction = AppStoreTransaction(
            transactionID: id, originalTransactionID: text("original-transaction-id"), productID: productID,
            quantity: quantity, purchaseDate: purchaseDate)
        transaction.originalPurchaseDate = date("original-purchase-date-ms", "original-purchase-date")
        transaction.expiresDate = date("expires-date", "expires-date-formatted")
        transaction.cancellationDate = date("cancellation-date-ms", "cancellation-date")
        if transaction.expiresDate == nil, text("expires-date") ?? text("expires-date-formatted") != nil {
            return .failure(RowFlaw(text: "expires-date can't be read"))
        }
        if transaction.cancellationDate == nil, text("cancellation-date") ?? text("cancellation-date-ms") != nil {
            return .failure(RowFlaw(text: "cancellation-date can't be read"))
        }
        transaction.isTrialPeriod = fields["is-trial-period"] == "true"
        transaction.isInIntroOfferPeriod = fields["is-in-intro-offer-period"] == "true"
        transaction.webOrderLineItemID = text("web-order-line-item-id")
        return .success(transaction)
    }

    /// A field that is not empty.
    private func text(_ key: String) -> String? {
        fields[key].flatMap { $0.isEmpty ? nil : $0 }
    }

    private func date(_ keys: String...) -> Date? {
        for key in keys {
            if let date = fields[key].flatMap(AppleDate.text) { return date }
        }
        return nil
    }
}
