public import Foundation

/// What verification said of a receipt.
public enum ReceiptVerdict: Hashable, Sendable {
    case verified(VerifiedReceipt)
    /// It can't be used, or not yet; the sentence says what was found and holds nothing of the payload.
    case problem(ReceiptProblem, String)
    /// It was not tried: Apple was down, or the run was asked to stop. It stays as it was.
    case notTried
}

/// A receipt that Apple, or Apple's signature, says is genuine, and what is in it.
public struct VerifiedReceipt: Hashable, Sendable {
    public var environment: Environment
    /// The app that the receipt names; nothing where the answer has none.
    public var bundleID: BundleID?
    public var transactions: [Transaction]
    public var source: Source
    public var verifiedAt: Date
    /// What in it could not be read, a sentence each; the rest is used.
    public var unreadable: [String]

    public init(
        environment: Environment, bundleID: BundleID?, transactions: [Transaction], source: Source,
        verifiedAt: Date, unreadable: [String] = []
    ) {
        self.environment = environment
        self.bundleID = bundleID
        self.transactions = transactions
        self.source = source
        self.verifiedAt = verifiedAt
        self.unreadable = unreadable
    }
}
