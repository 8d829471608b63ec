public import Foundation

/// What verification said of a receipt.
public enum ReceiptVerdict: Hashable, Sendable {
    case verified(VerifiedReceipt)
    /// It can't be used, or not yet; the sentence says what was found and holds nothing of the payload.
    case problem(ReceiptProblem, String)
    /// It was not tried: Apple was down, or the run was asked to stop. It stays as it was.
    case notTried
}

extension ReceiptVerdict {
    /// The transactions that a receipt was uploaded for and that Apple's answer does not hold. An id that can't be one
    /// of Apple's is not looked for.
    public func missing(of receipt: InboxReceipt) -> [String] {
        guard case .verified(let verified) = self, !verified.transactions.isEmpty else { return [] }
        let held = Set(verified.transactions.flatMap { [$0.transaction.id.text, $0.transaction.originalID.text] })
        return Set(receipt.purposes.compactMap(\.transactionID))
            .filter { !held.contains($0) && TransactionID($0) != nil }.sorted()
    }

    /// When a verified receipt says that it was made, if it can hold purchases that are owed of this app. A receipt of
    /// another app, or of the other environment, holds none of them, finished or not.
    public func madeAt(for app: App) -> Date? {
        guard case .verified(let receipt) = self, receipt.environment == app.environment,
            receipt.bundleID ?? app.bundleID == app.bundleID
        else { return nil }
        return receipt.madeAt
    }
}

/// A receipt that Apple, or Apple's signature, says is genuine, and what is in it.
public struct VerifiedReceipt: Hashable, Sendable {
    public var environment: Environment
    /// The app that the receipt names; `nil` if the answer has none.
    public var bundleID: BundleID?
    public var transactions: [VerifiedTransaction]
    public var verifiedAt: Date
    /// When the receipt says that it was made; only for a receipt that holds everything that the client has not
    /// finished.
    public var madeAt: Date?
    /// What in it could not be read, a sentence each; the rest is used.
    public var unreadable: [String]

    public init(
        environment: Environment, bundleID: BundleID?, transactions: [VerifiedTransaction],
        verifiedAt: Date, unreadable: [String] = []
    ) {
        self.environment = environment
        self.bundleID = bundleID
        self.transactions = transactions
        self.verifiedAt = verifiedAt
        self.unreadable = unreadable
    }
}

/// A transaction and who vouches for it.
public struct VerifiedTransaction: Hashable, Sendable {
    public var transaction: Transaction
    public var source: Source
    /// Whether the receipt holds it; otherwise Apple told of it in the history of the receipt's customer.
    public var isInReceipt: Bool
    /// Whether what was uploaded is the proof of this purchase and of no other, so that it can have been uploaded for
    /// nothing else: a signed transaction, or an iOS 6 receipt.
    public var isOwnProof = false
    /// When Apple said so without being asked: what was signed is as old as its signature, whenever it comes. `nil` if
    /// Apple said it when the receipt was verified.
    public var signedAt: Date?
    /// When the receipt from which Apple read it was made: it tells nothing of a later refund, whenever it is read.
    /// `nil` if Apple told what it knew at that moment.
    public var madeAt: Date?

    public init(
        _ transaction: Transaction, source: Source, isInReceipt: Bool = true, signedAt: Date? = nil, madeAt: Date? = nil
    ) {
        self.transaction = transaction
        self.source = source
        self.isInReceipt = isInReceipt
        self.signedAt = signedAt
        self.madeAt = madeAt
    }
}
