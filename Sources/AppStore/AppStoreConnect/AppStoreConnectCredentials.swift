/// By what App Store Connect knows who asks; all of it is from App Store Connect.
public struct AppStoreConnectCredentials: Sendable {
    /// Of the team.
    public var issuerID: String
    /// Of the key.
    public var keyID: String
    public var key: AppStoreConnectKey

    public init(issuerID: String, keyID: String, key: AppStoreConnectKey) {
        self.issuerID = issuerID
        self.keyID = keyID
        self.key = key
    }
}
