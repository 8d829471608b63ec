import Reconciliation

/// An id by which Apple finds a customer of an app.
enum CustomerID: Hashable, Sendable {
    /// Any transaction of theirs.
    case transaction(TransactionID)
    /// The `appTransactionId`, one for their Apple account and the app.
    case account(String)

    /// The id as the App Store Server API takes it.
    var text: String {
        switch self {
        case .transaction(let id): id.text
        case .account(let id): id
        }
    }
}
