public import Foundation

/// The download or purchase of the app itself, as Apple signed it. Any field may be missing; words of Apple's are kept
/// as sent.
public struct SignedAppTransaction: Sendable, Hashable {
    /// `Production`, `Sandbox`; `Xcode` and `LocalTesting` are not signed by Apple.
    public var receiptType: String?
    /// The number that the App Store gives the app.
    public var appAppleID: Int64?
    public var bundleID: String?
    public var applicationVersion: String?
    public var versionExternalID: String?
    public var receiptCreationDate: Date?
    public var originalPurchaseDate: Date?
    public var originalApplicationVersion: String?
    public var originalPlatform: String?
    public var preorderDate: Date?
    public var appTransactionID: String?
    public var deviceVerification: String?
    public var deviceVerificationNonce: String?
}

extension SignedAppTransaction: SignedPayload {
    var signedDate: Date? { receiptCreationDate }
    var environment: String? { receiptType }
    var app: AppClaims? { AppClaims(bundleID: bundleID, appAppleID: .init(appAppleID)) }
}

extension SignedAppTransaction: Decodable {
    private enum Key: String, CodingKey {
        case receiptType
        case appAppleID = "appAppleId"
        case bundleID = "bundleId"
        case applicationVersion
        case versionExternalID = "versionExternalIdentifier"
        case receiptCreationDate, originalPurchaseDate, originalApplicationVersion, originalPlatform, preorderDate
        case appTransactionID = "appTransactionId"
        case deviceVerification, deviceVerificationNonce
    }

    public init(from decoder: any Decoder) throws {
        let payload = try decoder.container(keyedBy: Key.self)
        receiptType = payload.text(.receiptType)
        appAppleID = payload.number(.appAppleID)
        bundleID = payload.text(.bundleID)
        applicationVersion = payload.text(.applicationVersion)
        versionExternalID = payload.text(.versionExternalID)
        receiptCreationDate = payload.milliseconds(.receiptCreationDate)
        originalPurchaseDate = payload.milliseconds(.originalPurchaseDate)
        originalApplicationVersion = payload.text(.originalApplicationVersion)
        originalPlatform = payload.text(.originalPlatform)
        preorderDate = payload.milliseconds(.preorderDate)
        appTransactionID = payload.text(.appTransactionID)
        deviceVerification = payload.text(.deviceVerification)
        deviceVerificationNonce = payload.text(.deviceVerificationNonce)
    }
}
