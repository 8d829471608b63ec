import Reconciliation

/// By what Apple finds a customer of an app.
enum CustomerID: Hashable, Sendable {
    /// Any transaction of theirs.
    case transaction(TransactionID)
    /// The `appTransactionId`, of their Apple account and the app.
    case account(String)

    /// As the App Store Server API is asked with it.
    var text: String {
        switch self {
        case .transaction(let id): id.text
        case .account(let id): id
        }
    }
}
