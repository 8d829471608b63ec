public import Foundation

/// A notification of version 2, with what it carries, all of it verified. Any field may be missing; words of Apple's
/// are kept as sent.
public struct AppStoreNotification: Sendable, Hashable {
    /// `ONE_TIME_CHARGE`, `DID_RENEW`, `REFUND` …
    public var type: String?
    public var subtype: String?
    /// The same for each attempt to send it.
    public var uuid: String?
    public var version: String?
    public var signedDate: Date?
    public var environment: String?
    public var bundleID: String?
    /// The number that the App Store gives the app; absent in sandbox.
    public var appAppleID: Int64?
    public var bundleVersion: String?
    /// Of the subscription that it is about: `1` active, `2` expired, `3` in billing retry, `4` in grace, `5` revoked.
    public var subscriptionStatus: Int64?
    /// Why Apple asks about consumption, in `CONSUMPTION_REQUEST`.
    public var consumptionRequestReason: String?
    public var transaction: SignedTransaction?
    public var renewalInfo: SignedRenewalInfo?
    public var appTransaction: SignedAppTransaction?
}

/// A notification as it was signed: what it carries is signed on its own.
struct NotificationPayload: SignedPayload {
    let type: String?
    let subtype: String?
    let uuid: String?
    let version: String?
    let signedDate: Date?
    let subject: Subject

    var environment: String? { subject.environment }
    var app: AppClaims? { AppClaims(bundleID: subject.bundleID, appAppleID: .init(subject.appAppleID)) }

    private enum Key: String, CodingKey {
        case type = "notificationType"
        case subtype
        case uuid = "notificationUUID"
        case version, signedDate, data, summary, externalPurchaseToken, appData
    }

    init(from decoder: any Decoder) throws {
        let payload = try decoder.container(keyedBy: Key.self)
        type = payload.text(.type)
        subtype = payload.text(.subtype)
        uuid = payload.text(.uuid)
        version = payload.text(.version)
        signedDate = payload.milliseconds(.signedDate)
        // A notification has exactly one of these, by its kind.
        let kinds: [Key] = [.data, .summary, .externalPurchaseToken, .appData]
        subject = try kinds.first(where: payload.says).map { try payload.decode(Subject.self, forKey: $0) } ?? Subject()
    }

    /// What it is about: `data`, `summary`, `externalPurchaseToken` or `appData`.
    struct Subject: Decodable, Sendable {
        var environment: String?
        var bundleID: String?
        var appAppleID: Int64?
        var bundleVersion: String?
        var status: Int64?
        var consumptionRequestReason: String?
        var transaction: String?
        var renewalInfo: String?
        var appTransaction: String?

        private enum Key: String, CodingKey {
            case environment, bundleVersion, status, consumptionRequestReason
            case bundleID = "bundleId"
            case appAppleID = "appAppleId"
            case transaction = "signedTransactionInfo"
            case renewalInfo = "signedRenewalInfo"
            case appTransaction = "signedAppTransactionInfo"
            case externalPurchaseID = "externalPurchaseId"
        }

        init() {}

        init(from decoder: any Decoder) throws {
            let subject = try decoder.container(keyedBy: Key.self)
            environment = subject.text(.environment)
            bundleID = subject.text(.bundleID)
            appAppleID = subject.number(.appAppleID)
            bundleVersion = subject.text(.bundleVersion)
            status = subject.number(.status)
            consumptionRequestReason = subject.text(.consumptionRequestReason)
            transaction = subject.text(.transaction)
            renewalInfo = subject.text(.renewalInfo)
            appTransaction = subject.text(.appTransaction)
            // A token for an external purchase names no environment, but begins with SANDBOX there.
            if environment == nil, let id = subject.text(.externalPurchaseID) {
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
    }
}
