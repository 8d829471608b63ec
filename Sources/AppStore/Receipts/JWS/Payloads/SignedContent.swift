/// What Apple signed in a JWS, of any kind.
public enum SignedContent: Sendable, Hashable {
    case transaction(SignedTransaction)
    case renewalInfo(SignedRenewalInfo)
    case appTransaction(SignedAppTransaction)
    case notification(AppStoreNotification)
}

/// Which of Apple's payloads a JWS holds, recognised by fields that only one of them has.
enum SignedKind: String {
    case transaction
    case renewalInfo = "renewal_info"
    case appTransaction = "app_transaction"
    case notification

    init(_ payload: JSONObject) {
        self =
            if payload.contains("notificationType") {
                .notification
            } else if payload.contains("transactionId") {
                .transaction
            } else if payload.contains("autoRenewProductId") || payload.contains("autoRenewStatus") {
                .renewalInfo
            } else {
                payload.contains("receiptType") ? .appTransaction : .transaction
            }
    }
}
