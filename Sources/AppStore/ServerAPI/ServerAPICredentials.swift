/// The credentials for the App Store Server API, and the app to ask about.
public struct ServerAPICredentials: Sendable {
    public var access: AppStoreConnectCredentials
    public var bundleID: String
    /// The number that the App Store gives the app; if known, payloads of production are compared with it.
    public var appAppleID: Int64?

    public init(_ access: AppStoreConnectCredentials, bundleID: String, appAppleID: Int64? = nil) {
        self.access = access
        self.bundleID = bundleID
        self.appAppleID = appAppleID
    }
}
