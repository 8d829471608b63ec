public import Foundation

/// The download or purchase of the app itself, as Apple signed it. Any field may be missing; Apple's words are kept as
/// sent.
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

    init(_ payload: JSONObject) {
        receiptType = payload.text("receiptType")
        appAppleID = payload.integer("appAppleId")
        bundleID = payload.text("bundleId")
        applicationVersion = payload.text("applicationVersion")
        versionExternalID = payload.text("versionExternalIdentifier")
        receiptCreationDate = payload.date("receiptCreationDate")
        originalPurchaseDate = payload.date("originalPurchaseDate")
        originalApplicationVersion = payload.text("originalApplicationVersion")
        originalPlatform = payload.text("originalPlatform")
        preorderDate = payload.date("preorderDate")
        appTransactionID = payload.text("appTransactionId")
        deviceVerification = payload.text("deviceVerification")
        deviceVerificationNonce = payload.text("deviceVerificationNonce")
    }
}
