/// What a signed payload must say of itself to be accepted: a genuine one of another app, or of sandbox, proves nothing
/// here.
public struct JWSExpectation: Sendable, Hashable {
    /// The app; `nil` accepts any.
    public var bundleID: String?
    /// The number that the App Store gives the app, which notifications and app transactions name in production; `nil`
    /// accepts any.
    public var appAppleID: Int64?
    /// The environments that are accepted. Anyone can sign what is made in `xcode` and `localTesting`: if one of these
    /// is among them, its payloads are read without checking their signature.
    public var environments: Set<AppStoreEnvironment>
    /// Whether a payload that Apple signed is also accepted if it names no environment, or an unknown one.
    public var takesUnknownEnvironments = false

    public init(
        bundleID: String?, appAppleID: Int64? = nil,
        environments: Set<AppStoreEnvironment> = [.production, .sandbox]
    ) {
        self.bundleID = bundleID
        self.appAppleID = appAppleID
        self.environments = environments
    }

    /// Accepts whatever Apple signed, for any app and in any environment, to look at what is there.
    public static let anything = {
        var expectation = JWSExpectation(bundleID: nil)
        expectation.takesUnknownEnvironments = true
        return expectation
    }()

    /// Refuses a payload of another environment.
    func checkEnvironment(_ claimed: String?) throws(JWSError) {
        let environment = claimed.flatMap(AppStoreEnvironment.init)
        guard environment.map(environments.contains) ?? takesUnknownEnvironments else {
            throw .environment(found: claimed)
        }
    }

    /// Refuses a payload of another app.
    func checkApp(_ app: AppClaims?, environment: String?) throws(JWSError) {
        guard let app else { return }
        if let bundleID, app.bundleID != bundleID { throw .bundleID(found: app.bundleID, expected: bundleID) }
        // Sandbox leaves the number out.
        guard let claimed = app.appAppleID, let appAppleID, environment == AppStoreEnvironment.production.rawValue
        else { return }
        if claimed.number != appAppleID { throw .appAppleID(found: claimed.number, expected: appAppleID) }
    }
}
