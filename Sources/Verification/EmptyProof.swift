import AppStore
import Reconciliation

/// A genuine JWS that names no purchase: a renewal info, an AppTransaction, or a notification such as `TEST`.
struct EmptyProof: Sendable {
    /// The customer whose purchases Apple can be asked about; `nil` if it leads to nobody.
    let customer: CustomerID?
    /// What it is, and what is missing, in a sentence.
    let text: String

    init(_ renewal: SignedRenewalInfo) {
        self.init(
            "a renewal info", renewal.originalTransactionID.flatMap(TransactionID.init).map(CustomerID.transaction),
            madeIn: renewal.environment)
    }

    init(_ transaction: SignedAppTransaction) {
        self.init(
            "an AppTransaction", transaction.appTransactionID.map(CustomerID.account), madeIn: transaction.receiptType)
    }

    /// Reads a notification without a transaction, which may carry something that leads to some.
    init(_ notification: AppStoreNotification) {
        if let renewal = notification.renewalInfo {
            self.init(renewal)
        } else if let transaction = notification.appTransaction {
            self.init(transaction)
        } else {
            self.init(customer: nil, text: "a notification that is about no purchase")
        }
    }

    private init(customer: CustomerID?, text: String) {
        self.customer = customer
        self.text = text
    }

    private static let needsKey = "with a key for the App Store Server API it leads to all of the customer's"

    /// - Parameter environment: as it was sent. Apple knows no customers of Xcode and of local tests.
    private init(_ kind: String, _ customer: CustomerID?, madeIn environment: String?) {
        let isApples = environment.flatMap(AppStoreEnvironment.init)?.isSignedByApple ?? false
        guard isApples, let customer else {
            self.init(customer: nil, text: "\(kind) that names neither a purchase nor a customer")
            return
        }
        self.init(customer: customer, text: "\(kind) names no purchase; \(Self.needsKey)")
    }
}
