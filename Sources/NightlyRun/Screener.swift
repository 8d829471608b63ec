import Foundation
import Ledger
import Reconciliation

/// The screen stage: decides where each transaction of a verified batch belongs.
struct Screener: Sendable {
    private let apps: [String: App]
    private let catalogue: Catalogue

    init(apps: [App], catalogue: Catalogue) {
        self.apps = Dictionary(apps.map { ($0.bundleID.text, $0) }, uniquingKeysWith: { first, _ in first })
        self.catalogue = catalogue
    }

    /// The purchases in the batch that may come under several ids: what must be known of the ledger before screening.
    func originals(in verified: [VerifiedGroup]) -> [KnownOriginals.Original: Set<TransactionID>] {
        var found: [KnownOriginals.Original: Set<TransactionID>] = [:]
        var ofUnknownType: Set<KnownOriginals.Original> = []
        for (app, receipt, _) in receipts(in: verified) {
            // What a family shares was another purchase, and stands for none.
            for transaction in receipt.transactions.map(\.transaction)
            where transaction.refundedAt == nil && !transaction.isFamilyShared {
                let type = type(of: transaction, in: app)
                guard let original = original(of: transaction, type, app, receipt) else { continue }
                found[original, default: []].insert(transaction.id)
                if type == nil { ofUnknownType.insert(original) }
            }
        }
        // A purchase of unknown type is mostly a consumable, which nothing restores: it is its own original.
        for original in ofUnknownType where found[original] == [original.id] { found[original] = nil }
        return found
    }

    /// Every transaction of the batch as each of its receipts showed it.
    func sightings(
        in verified: [VerifiedGroup], known: KnownOriginals,
        presented: [KnownOriginals.Original: Set<TransactionID>]
    ) -> [SightedTransaction] {
        var sightings: [SightedTransaction] = []
        for (app, receipt, group) in receipts(in: verified) {
            let transactions = receipt.transactions.map { verified in
                (screened(verified, of: receipt, for: app, known: known, presented: presented), verified)
            }
            for holder in group.receipts {
                for (transaction, verified) in transactions {
                    sightings.append(
                        SightedTransaction(
                            transaction, receipt: holder, isInReceipt: verified.isInReceipt,
                            isOwnProof: verified.isOwnProof))
                }
            }
        }
        return sightings
    }

    /// A transaction as its receipt shows it. What was signed is as old as its signature, and confirmed by the night
    /// that looks at it.
    private func screened(
        _ verified: VerifiedTransaction, of receipt: VerifiedReceipt, for app: App, known: KnownOriginals,
        presented: [KnownOriginals.Original: Set<TransactionID>]
    ) -> ScreenedTransaction {
        let transaction = verified.transaction
        let type = type(of: transaction, in: app)
        let original = original(of: transaction, type, app, receipt)
        let subject = ScreeningSubject(
            transaction: transaction, environment: receipt.environment, foundBundleID: receipt.bundleID, app: app,
            productType: type,
            isOriginalKnown: original.map {
                known.isKnown($0, besides: transaction.id, presented: presented[$0] ?? [])
            } ?? false)
        return ScreenedTransaction(
            subject: subject, source: verified.source, verifiedAt: verified.signedAt ?? receipt.verifiedAt,
            confirmedAt: verified.signedAt == nil ? nil : receipt.verifiedAt, madeAt: verified.madeAt)
    }

    /// When a receipt was made, if the lack of one of its app's purchases tells that the client has finished that
    /// purchase.
    func madeAt(_ verified: VerifiedGroup) -> Date? {
        apps[verified.group.bundleID].flatMap { verified.verdict.madeAt(for: $0) }
    }

    /// A transaction that Apple told of by itself, as it was when Apple signed it.
    func screened(
        _ verified: VerifiedTransaction, signedAt: Date, _ environment: Environment, for app: App
    ) -> ScreenedTransaction {
        ScreenedTransaction(
            subject: ScreeningSubject(
                transaction: verified.transaction, environment: environment, foundBundleID: app.bundleID, app: app,
                productType: type(of: verified.transaction, in: app),
                // For a known purchase this was asked when it entered; for another it is asked when the inbox is taken.
                isOriginalKnown: false),
            // Apple's own word, and not what a client may have kept for long.
            source: .serverAPI, verifiedAt: signedAt)
    }

    private func receipts(in verified: [VerifiedGroup]) -> [(App, VerifiedReceipt, PayloadGroup)] {
        verified.compactMap { item in
            guard case .verified(let receipt) = item.verdict, let app = apps[item.group.bundleID] else { return nil }
            return (app, receipt, item.group)
        }
    }

    /// The original that several transaction ids may share, this one's among them; `nil` if nothing gives it another
    /// id.
    private func original(
        of transaction: Transaction, _ type: ProductType?, _ app: App, _ receipt: VerifiedReceipt
    ) -> KnownOriginals.Original? {
        let isPeriod = type == .autoRenewable && transaction.webOrderLineItemID != nil
        guard ScreeningSubject.isRestorable(transaction, of: type) || isPeriod else {
            return nil
        }
        return KnownOriginals.Original(
            id: transaction.originalID, bundleID: app.bundleID, environment: receipt.environment,
            period: isPeriod ? transaction.webOrderLineItemID : nil)
    }

    /// Apple's word, otherwise the table of products, otherwise what an expiry tells.
    private func type(of transaction: Transaction, in app: App) -> ProductType? {
        transaction.productType ?? catalogue.type(of: transaction.productID, in: app.bundleID)
            ?? (transaction.expiresAt == nil ? nil : .autoRenewable)
    }
}
