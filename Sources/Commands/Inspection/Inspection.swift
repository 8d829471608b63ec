import AppStore
import Foundation
import Reconciliation

/// What `inspect` says of one file. Its keys are a contract with whoever reads the JSON. What is not there is left out.
/// If nothing can be read, only the file and the error are there.
public struct Inspection: Encodable, Sendable {
    let file: String
    var error: String?
    var format: String?
    /// What a JWS holds.
    var content: String?
    var signature: String?
    /// Why the signature is not valid.
    var reason: String?
    var signedAt: String?
    var bundleID: String?
    var environment: String?
    var applicationVersion: String?
    var notification: InspectedNotification?
    var renewalInfo: InspectedRenewalInfo?
    var appTransaction: InspectedAppTransaction?
    var transactions: [InspectedTransaction]?
    /// What in it could not be read.
    var problems: [String]?

    /// Whether the signature proves the contents.
    public var isValid: Bool { signature == "valid" }

    /// - Parameter error: why the file can't be read
    public init(file: String, error: String) {
        self.file = file
        self.error = error
    }

    init(file: String, _ proof: InspectedReceipt) {
        self.file = file
        format = proof.format.rawValue
        content = proof.content
        signature = proof.signature.word
        reason = proof.signature.reason
        signedAt = proof.signedAt?.formatted(.iso8601)
        bundleID = proof.bundleID
        environment = proof.environment
        applicationVersion = proof.applicationVersion
        notification = proof.notification.map(InspectedNotification.init)
        renewalInfo = proof.renewalInfo.map(InspectedRenewalInfo.init)
        appTransaction = proof.appTransaction.map(InspectedAppTransaction.init)
        transactions = proof.transactions.map(InspectedTransaction.init)
        problems = proof.problems.isEmpty ? nil : proof.problems
    }

    /// The inspection as one line of JSON.
    public var line: String {
        // Nothing in it is a number that JSON can't write, which is all that could fail.
        (try? String(json: self)) ?? "{}"
    }
}

/// One transaction in an inspection.
struct InspectedTransaction: Encodable, Sendable {
    let transactionID: String
    let originalTransactionID: String?
    let productID: String
    let quantity: Int
    let purchasedAt: String
    let originalPurchasedAt: String?
    let expiresAt: String?
    let cancelledAt: String?
    let revocationType: String?
    /// In milliunits of a percent.
    let revocationPercentage: Int?
    let webOrderLineItemID: String?
    let type: String?
    let priceMilliunits: Int64?
    let currency: String?
    let storefront: String?
    let appTransactionID: String?

    init(_ transaction: AppStoreTransaction) {
        transactionID = transaction.transactionID
        originalTransactionID = transaction.originalTransactionID
        productID = transaction.productID
        quantity = transaction.quantity
        purchasedAt = transaction.purchaseDate.formatted(.iso8601)
        originalPurchasedAt = transaction.originalPurchaseDate?.formatted(.iso8601)
        expiresAt = transaction.expiresDate?.formatted(.iso8601)
        cancelledAt = transaction.cancellationDate?.formatted(.iso8601)
        revocationType = transaction.revocationType
        revocationPercentage = transaction.revocationPercentage
        webOrderLineItemID = transaction.webOrderLineItemID
        type = transaction.productType
        priceMilliunits = transaction.priceMilliunits
        currency = transaction.currency
        storefront = transaction.storefront
        appTransactionID = transaction.appTransactionID
    }
}

extension SignatureStatus {
    fileprivate var word: String {
        switch self {
        case .valid: "valid"
        case .invalid: "invalid"
        case .untrusted, .unknownRoot: "untrusted"
        case .absent: "absent"
        }
    }
}
