package import AppStore
import Foundation
package import Reconciliation

/// Conversion of what Apple sends to the types of the rules.
extension ReceiptVerdict {
    /// - Parameter now: the run's present moment.
    init(_ outcome: VerifyReceiptOutcome, now: Date) {
        self =
            switch outcome {
            case .genuine(let answer): Self.verdict(on: answer, now: now)
            case .notGenuine(let status): .problem(.notGenuine, "Apple says it is not genuine (status \(status))")
            case .malformedOrOutage(let status):
                .problem(.malformed, "Apple says it is malformed (status \(status)), or was out of order")
            case .tryAgain(let why): .problem(ReceiptProblem(why), why.text)
            case .needsConfiguration(let what), .needsSecret(let what): .problem(.needsConfiguration, what)
            case .accountGone:
                .problem(.accountGone, "Apple says the customer's account is gone (status 21010)")
            case .notTried: .notTried
            }
    }

    private static func verdict(on answer: VerifiedReceiptAnswer, now: Date) -> ReceiptVerdict {
        do {
            return .verified(try VerifiedReceipt(answer, source: .verifyReceipt, now: now))
        } catch {
            return .problem(.unreadableAnswer, error.text)
        }
    }
}

/// Why the contents of a proof can't be used, in a sentence.
struct ReceiptFlaw: Error, CustomStringConvertible {
    static let unknownEnvironment = ReceiptFlaw(text: "it names an environment that is not known")

    let text: String

    var description: String { text }
}

extension BundleID {
    /// The app that a proof names; `nil` if it names none.
    fileprivate static func named(_ text: String?) throws(ReceiptFlaw) -> BundleID? {
        guard let text else { return nil }
        guard let bundleID = BundleID(text) else { throw ReceiptFlaw(text: "it names a bundle id that can't be one") }
        return bundleID
    }
}

extension VerifiedReceipt {
    /// Reads an answer of Apple's, or a receipt in the shape of one.
    init(_ answer: VerifiedReceiptAnswer, source: Source, now: Date) throws(ReceiptFlaw) {
        guard let environment = Environment(rawValue: answer.environment) else {
            throw ReceiptFlaw.unknownEnvironment
        }
        self.init(
            environment: environment, bundleID: try BundleID.named(answer.bundleID), transactions: [], verifiedAt: now,
            unreadable: answer.unusableRows)
        if !answer.isFlat { madeAt = answer.receiptCreationDate }
        for (index, row) in answer.transactions.enumerated() {
            let transaction: Transaction
            do {
                transaction = try Transaction(row, number: index + 1, toldAt: now)
            } catch {
                unreadable.append(error.text)
                continue
            }
            // A receipt says that a purchase was made; of a refund it says nothing unless it holds one.
            let saidAt = transaction.refundedAt == nil ? nil : answer.receiptCreationDate
            transactions.append(
                VerifiedTransaction(
                    transaction, source: source,
                    signedAt: source == .local ? min(saidAt ?? transaction.purchasedAt, now) : nil,
                    madeAt: source == .verifyReceipt ? Self.madeAt(row, in: answer) : nil))
        }
        if answer.isFlat, transactions.count == 1 { transactions[0].isOwnProof = true }
    }

    /// When the receipt was made from which Apple read a transaction. `nil` for subscriptions that Apple adds as they are
    /// now. A receipt of one transaction says only when that was bought.
    private static func madeAt(_ row: AppStoreTransaction, in answer: VerifiedReceiptAnswer) -> Date? {
        if row.expiresDate != nil, row.isToldNow || answer.isFlat { return nil }
        return answer.isFlat ? row.purchaseDate : answer.receiptCreationDate
    }

    /// Reads one signed transaction.
    init(_ signed: SignedTransaction, source: Source, now: Date) throws {
        try self.init(holdingNothing: signed.bundleID, signed.environment, now: now)
        var verified = VerifiedTransaction(
            try Transaction(signed), source: source, signedAt: signed.signedDate.map { min($0, now) })
        verified.isOwnProof = true
        transactions = [verified]
    }

    /// Reads a signed payload that names no purchase. Payloads signed by Xcode and local tests count as sandbox: nobody
    /// paid.
    ///
    /// - Parameters:
    ///   - bundleID: as it was sent.
    ///   - environment: as it was sent.
    init(holdingNothing bundleID: String?, _ environment: String?, now: Date) throws(ReceiptFlaw) {
        guard let environment = environment.flatMap(AppStoreEnvironment.init) else {
            throw ReceiptFlaw.unknownEnvironment
        }
        self.init(
            environment: environment == .production ? .production : .sandbox,
            bundleID: try BundleID.named(bundleID), transactions: [], verifiedAt: now)
    }
}

extension ReceiptProblem {
    init(_ why: TryAgain) {
        self =
            switch why {
            case .unreadable, .noReceipt: .unreadableAnswer
            // Proxies before Apple's servers answer so to any request.
            case .noAnswer, .sandboxDown, .http(502...504), .waitTooLong(http: 502...504, _): .appleUnreachable
            case .http, .waitTooLong, .busy, .unknownStatus, .pageTokenRefused, .questionRefused, .noEnvironment:
                .tryAgain
            }
    }
}

extension Transaction {
    /// - Throws: `ReceiptFlaw`, or AppStore's `UnusableTransaction`, if it can't be used.
    package init(_ signed: SignedTransaction) throws {
        try self.init(try signed.transaction(), number: 1, toldAt: signed.signedDate)
    }

    /// - Parameters:
    ///   - number: its position in what holds it, counted from one; it names a transaction with an unusable id.
    ///   - toldAt: when Apple told of it, if that is known.
    /// - Throws: if an id is not one of Apple's, the ledger can't count so many units, or it is not bought yet.
    init(_ row: AppStoreTransaction, number: Int, toldAt: Date?) throws(ReceiptFlaw) {
        guard let id = TransactionID(row.transactionID) else {
            throw ReceiptFlaw(text: "transaction no. \(number): its id can't be one")
        }
        func flaw(_ field: String) -> ReceiptFlaw { ReceiptFlaw(text: "transaction \(id): its \(field) can't be one") }
        guard let productID = ProductID(row.productID) else { throw flaw("product id") }
        var originalID: TransactionID?
        if let text = row.originalTransactionID {
            guard let known = TransactionID(text) else { throw flaw("original transaction id") }
            originalID = known
        }
        guard Int32(exactly: row.quantity) != nil else { throw flaw("quantity") }
        // Until that day it would be within its grace, and in no list.
        if let toldAt, row.purchaseDate > toldAt + Self.mostAhead { throw flaw("purchase date") }
        self.init(
            id: id, originalID: originalID, productID: productID, quantity: row.quantity,
            purchasedAt: row.purchaseDate)
        originalPurchasedAt = row.originalPurchaseDate
        expiresAt = row.expiresDate
        refundedAt = row.cancellationDate
        // A reason without a date is no refund: answers have a reason beside an empty date.
        refundReason = row.cancellationDate == nil ? nil : row.cancellationReason
        revocationType = row.revocationType
        revocationPercentage = row.revocationPercentage
        ownership = row.ownershipType
        isTrial = row.isTrialPeriod
        isUpgraded = row.isUpgraded
        // A test purchase in Xcode belongs to no period, or has 0 here.
        webOrderLineItemID = row.webOrderLineItemID.flatMap { $0.isEmpty || $0 == "0" ? nil : $0 }
        // Tokens that are no UUID occur, and are kept as they are.
        appAccountToken = row.appAccountToken.map { AppAccountToken.normalized($0) ?? $0 }?.upTo(Self.longestToken)
        appTransactionID = row.appTransactionID?.upTo(TransactionKind.longest)
        storefront = row.storefront
        productType = row.productType.flatMap(ProductType.init(applesWord:))
        if let milliunits = row.priceMilliunits, let currency = row.currency.flatMap(CurrencyCode.init),
            (0...Money.most).contains(milliunits)
        {
            price = Money(milliunits: milliunits, currency: currency)
        }
    }

    /// For how many seconds after Apple told of it a purchase may be dated: a renewal is paid a day before its period
    /// begins, and dates of the hour that is repeated when clocks are set back have been seen an hour late.
    private static let mostAhead: TimeInterval = 7 * 24 * 3600

    /// The most bytes of a token that the ledger looks up: no index of PostgreSQL's holds thousands.
    private static let longestToken = 255
}

extension String {
    /// `nil` if it has more bytes.
    fileprivate func upTo(_ bytes: Int) -> String? { utf8.count <= bytes ? self : nil }
}

extension ProductType {
    /// The type in the words of signed transactions; `nil` for a word that Apple may add.
    fileprivate init?(applesWord word: String) {
        switch word {
        case "Consumable": self = .consumable
        case "Non-Consumable": self = .nonConsumable
        case "Auto-Renewable Subscription": self = .autoRenewable
        case "Non-Renewing Subscription": self = .nonRenewing
        default: return nil
        }
    }
}
