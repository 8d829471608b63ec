import AppStore
import Foundation
import Reconciliation

/// What Apple sends, turned into the types of the rules. The only place that knows both.
extension ReceiptVerdict {
    /// - Parameter now: the moment that the run takes for the present.
    init(_ outcome: VerifyReceiptOutcome, now: Date) {
        self =
            switch outcome {
            case .genuine(let answer): Self.verdict(on: answer, now: now)
            case .notGenuine(let status): .problem(.notGenuine, "Apple says it is not genuine (status \(status))")
            case .malformedOrOutage(let status):
                .problem(.malformed, "Apple says it is malformed (status \(status)), or was out of order")
            case .tryAgain(let why): .problem(ReceiptProblem(why), why.text)
            case .needsConfiguration(let what): .problem(.needsConfiguration, what)
            case .accountGone:
                .problem(.accountGone, "Apple says the customer's account is gone (status 21010)")
            case .notTried: .notTried
            }
    }

    private static func verdict(on answer: VerifiedReceiptAnswer, now: Date) -> ReceiptVerdict {
        guard let environment = Environment(rawValue: answer.environment) else {
            return .problem(.unreadableAnswer, "Apple's answer names an environment that is not known")
        }
        var receipt = VerifiedReceipt(
            environment: environment, bundleID: nil, transactions: [], source: .verifyReceipt, verifiedAt: now,
            unreadable: answer.unusableRows)
        if let found = answer.bundleID {
            guard let bundleID = BundleID(found) else {
                return .problem(.unreadableAnswer, "Apple's answer names a bundle id that can't be one")
            }
            receipt.bundleID = bundleID
        }
        for row in answer.transactions {
            guard let transaction = Transaction(row) else {
                receipt.unreadable.append("a transaction has an id or a product id that can't be one")
                continue
            }
            receipt.transactions.append(transaction)
        }
        return .verified(receipt)
    }
}

extension ReceiptProblem {
    fileprivate init(_ why: TryAgain) {
        self =
            switch why {
            case .unreadable: .unreadableAnswer
            case .noAnswer, .sandboxDown: .appleUnreachable
            case .http, .waitTooLong, .busy, .unknownStatus, .noEnvironment: .tryAgain
            }
    }
}

extension Transaction {
    /// Nothing when an id is none of Apple's.
    fileprivate init?(_ row: AppStoreTransaction) {
        guard let id = TransactionID(row.transactionID), let productID = ProductID(row.productID) else { return nil }
        var originalID: TransactionID?
        if let text = row.originalTransactionID {
            guard let known = TransactionID(text) else { return nil }
            originalID = known
        }
        self.init(
            id: id, originalID: originalID, productID: productID, quantity: row.quantity,
            purchasedAt: row.purchaseDate)
        originalPurchasedAt = row.originalPurchaseDate
        expiresAt = row.expiresDate
        refundedAt = row.cancellationDate
        refundReason = row.cancellationReason
        ownership = row.ownershipType
        isTrial = row.isTrialPeriod
        isUpgraded = row.isUpgraded
        webOrderLineItemID = row.webOrderLineItemID
        appAccountToken = row.appAccountToken
        storefront = row.storefront
        if let milliunits = row.priceMilliunits, let currency = row.currency.flatMap(CurrencyCode.init) {
            price = Money(milliunits: milliunits, currency: currency)
        }
    }
}
