/// Who asks the App Store Server API, for which app.
public struct ServerAPICredentials: Sendable {
    /// Of the team, from App Store Connect.
    public var issuerID: String
    /// Of the key, from App Store Connect.
    public var keyID: String
    public var bundleID: String
    /// The number that the App Store gives the app; if known, payloads of production are compared with it.
    public var appAppleID: Int64?
    public var key: ServerAPIKey

    public init(issuerID: String, keyID: String, bundleID: String, appAppleID: Int64? = nil, key: ServerAPIKey) {
        self.issuerID = issuerID
        self.keyID = keyID
        self.bundleID = bundleID
        self.appAppleID = appAppleID
        self.key = key
    }
}
