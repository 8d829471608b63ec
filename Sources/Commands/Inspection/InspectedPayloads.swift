import AppStore
import Foundation

/// A notification in an inspection; what it carries stands beside it.
struct InspectedNotification: Encodable, Sendable {
    let type: String?
    let subtype: String?
    let notificationUUID: String?
    let consumptionRequestReason: String?

    init(_ notification: AppStoreNotification) {
        type = notification.type
        subtype = notification.subtype
        notificationUUID = notification.uuid
        consumptionRequestReason = notification.consumptionRequestReason
    }
}

/// How a subscription will go on, in an inspection.
struct InspectedRenewalInfo: Encodable, Sendable {
    let originalTransactionID: String?
    let productID: String?
    let autoRenewProductID: String?
    let autoRenewStatus: Int64?
    let expirationIntent: Int64?
    let isInBillingRetryPeriod: Bool
    let gracePeriodExpiresAt: String?
    let renewsAt: String?
    let appTransactionID: String?

    init(_ renewal: SignedRenewalInfo) {
        originalTransactionID = renewal.originalTransactionID
        productID = renewal.productID
        autoRenewProductID = renewal.autoRenewProductID
        autoRenewStatus = renewal.autoRenewStatus
        expirationIntent = renewal.expirationIntent
        isInBillingRetryPeriod = renewal.isInBillingRetryPeriod
        gracePeriodExpiresAt = renewal.gracePeriodExpiresDate?.formatted(.iso8601)
        renewsAt = renewal.renewalDate?.formatted(.iso8601)
        appTransactionID = renewal.appTransactionID
    }
}

/// The download of an app, in an inspection.
struct InspectedAppTransaction: Encodable, Sendable {
    let appTransactionID: String?
    let originalPurchasedAt: String?
    let originalApplicationVersion: String?
    let originalPlatform: String?

    init(_ transaction: SignedAppTransaction) {
        appTransactionID = transaction.appTransactionID
        originalPurchasedAt = transaction.originalPurchaseDate?.formatted(.iso8601)
        originalApplicationVersion = transaction.originalApplicationVersion
        originalPlatform = transaction.originalPlatform
    }
}
