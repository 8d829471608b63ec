/// The credentials of a caller of App Store Connect, which issues all of them.
public struct AppStoreConnectCredentials: Sendable {
    /// The team's issuer id.
    public var issuerID: String
    /// The key's id.
    public var keyID: String
    public var key: AppStoreConnectKey

    public init(issuerID: String, keyID: String, key: AppStoreConnectKey) {
        self.issuerID = issuerID
        self.keyID = keyID
        self.key = key
    }
}
