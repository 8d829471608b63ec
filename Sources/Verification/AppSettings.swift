public import Reconciliation

/// The settings of one app: what the rules need, and its secrets.
public struct AppSettings: Sendable {
    public var app: App
    /// The app's shared secret for `verifyReceipt`; needed for auto-renewable subscriptions.
    public var sharedSecret: Secret?
    public var verification: VerificationMethod
    /// The app's key for the App Store Server API.
    public var serverAPI: ServerAPIAccess?
    /// Whether payloads signed by Xcode and local tests are accepted, though anyone can sign them.
    public var allowsXcode: Bool
    /// The app's own SKU in App Store Connect, by which Apple's sales reports name it.
    public var sku: String?
    /// How Apple is asked again about customers; `nil` if it is not.
    public var reasking: Reasking?
    /// How many pages of a customer's history are read, of twenty purchases each: nobody bought more, and an endless
    /// history must not keep a night going.
    public var mostHistoryPages = 500

    public init(
        app: App, sharedSecret: Secret? = nil, verification: VerificationMethod = .auto,
        serverAPI: ServerAPIAccess? = nil, allowsXcode: Bool = false, sku: String? = nil
    ) {
        self.app = app
        self.sharedSecret = sharedSecret
        self.verification = verification
        self.serverAPI = serverAPI
        self.allowsXcode = allowsXcode
        self.sku = sku
    }

    /// Whether the App Store Server API is asked about this app's receipts.
    package var asksServerAPI: Bool {
        switch verification {
        case .auto, .serverAPI: serverAPI != nil
        case .verifyReceipt, .local: false
        }
    }
}

/// The credentials for the App Store Server API, all of them from App Store Connect.
public struct ServerAPIAccess: Sendable {
    public var issuerID: String
    public var keyID: String
    /// The text of the `.p8` file.
    public var key: Secret
    /// The number that the App Store gives the app; if known, what Apple signs is compared with it.
    public var appAppleID: Int64?

    public init(issuerID: String, keyID: String, key: Secret, appAppleID: Int64? = nil) {
        self.issuerID = issuerID
        self.keyID = keyID
        self.key = key
        self.appAppleID = appAppleID
    }
}

/// A secret that no log, error or mirror shows.
public struct Secret: Sendable, CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// The secret itself, for the request that needs it.
    public let plainText: String

    public init(_ plainText: String) {
        self.plainText = plainText
    }

    /// Whether it looks like a shared secret of App Store Connect's: 32 hexadecimal digits.
    public var hasFormOfApples: Bool {
        plainText.utf8.count == 32 && plainText.utf8.allSatisfy { Character(UnicodeScalar($0)).isHexDigit }
    }

    public var description: String { "(secret)" }
    public var debugDescription: String { "(secret)" }
    public var customMirror: Mirror { Mirror(self, children: []) }
}
