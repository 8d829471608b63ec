public import Foundation

/// A notification of version 2, with what it carries, all of it verified. Any field may be missing; Apple's words are
/// kept as sent.
public struct AppStoreNotification: Sendable, Hashable {
    /// `ONE_TIME_CHARGE`, `DID_RENEW`, `REFUND` …
    public var type: String?
    public var subtype: String?
    /// Stays the same for each attempt to send it.
    public var uuid: String?
    public var version: String?
    public var signedDate: Date?
    public var environment: String?
    public var bundleID: String?
    /// The number that the App Store gives the app; absent in sandbox.
    public var appAppleID: Int64?
    public var bundleVersion: String?
    /// The subscription's status: `1` active, `2` expired, `3` in billing retry, `4` in grace, `5` revoked.
    public var subscriptionStatus: Int64?
    /// Why Apple asks about consumption, in `CONSUMPTION_REQUEST`.
    public var consumptionRequestReason: String?
    public var transaction: SignedTransaction?
    /// The transaction as it was sent, a JWS of its own: a proof like one that a client uploads.
    public var signedTransaction: String?
    public var renewalInfo: SignedRenewalInfo?
    public var appTransaction: SignedAppTransaction?
}

/// A notification as it was signed; what it carries is signed on its own.
struct NotificationPayload: SignedPayload {
    let type: String?
    let subtype: String?
    let uuid: String?
    let version: String?
    let signedDate: Date?
    let subject: Subject

    var environment: String? { subject.environment }
    var app: AppClaims? { AppClaims(bundleID: subject.bundleID, appAppleID: .init(subject.appAppleID)) }

    init?(_ payload: JSONObject) {
        type = payload.text("notificationType")
        subtype = payload.text("subtype")
        uuid = payload.text("notificationUUID")
        version = payload.text("version")
        signedDate = payload.date("signedDate")
        // A notification has exactly one of these, depending on its kind.
        let kinds: [StaticString] = ["data", "summary", "externalPurchaseToken", "appData", "unclaimInfo"]
        if let kind = kinds.first(where: payload.says) {
            guard let object = payload.object(kind) else { return nil }
            subject = Subject(object)
        } else {
            subject = Subject()
        }
    }

    /// What the notification is about: `data`, `summary`, `externalPurchaseToken`, `appData` or `unclaimInfo`.
    struct Subject: Sendable {
        var environment: String?
        var bundleID: String?
        var appAppleID: Int64?
        var bundleVersion: String?
        var status: Int64?
        var consumptionRequestReason: String?
        var transaction: String?
        var renewalInfo: String?
        var appTransaction: String?

        init() {}

        init(_ subject: JSONObject) {
            environment = subject.text("environment")
            bundleID = subject.text("bundleId")
            appAppleID = subject.integer("appAppleId")
            bundleVersion = subject.text("bundleVersion")
            status = subject.integer("status")
            consumptionRequestReason = subject.text("consumptionRequestReason")
            transaction = subject.text("signedTransactionInfo")
            renewalInfo = subject.text("signedRenewalInfo")
            appTransaction = subject.text("signedAppTransactionInfo")
            // The token for an external purchase names no environment, but its id begins with SANDBOX there.
            if environment == nil, let id = subject.text("externalPurchaseId") {
                environment = (id.hasPrefix("SANDBOX") ? AppStoreEnvironment.sandbox : .production).rawValue
            }
        }
    }
}

extension AppStoreNotification {
    init(_ payload: NotificationPayload) {
        type = payload.type
        subtype = payload.subtype
        uuid = payload.uuid
        version = payload.version
        signedDate = payload.signedDate
        environment = payload.subject.environment
        bundleID = payload.subject.bundleID
        appAppleID = payload.subject.appAppleID
        bundleVersion = payload.subject.bundleVersion
        subscriptionStatus = payload.subject.status
        consumptionRequestReason = payload.subject.consumptionRequestReason
        signedTransaction = payload.subject.transaction
    }
}
