/// What a signed payload must say of itself to be accepted: a genuine one of another app's, or of sandbox, proves
/// nothing here.
public struct JWSExpectation: Sendable, Hashable {
    /// The app; nothing accepts any.
    public var bundleID: String?
    /// The number that the App Store gives the app, which notifications and app transactions name in production;
    /// nothing accepts any.
    public var appAppleID: Int64?
    /// The environments that are accepted. What is made in `xcode` and `localTesting` is signed by anyone: where one
    /// of these is among them, its payloads are read without a look at their signature.
    public var environments: Set<AppStoreEnvironment>
    /// Whether what Apple signed is accepted, too, where it names no environment, or one that is not known here.
    public var takesUnknownEnvironments = false

    public init(
        bundleID: String?, appAppleID: Int64? = nil,
        environments: Set<AppStoreEnvironment> = [.production, .sandbox]
    ) {
        self.bundleID = bundleID
        self.appAppleID = appAppleID
        self.environments = environments
    }

    /// Whatever Apple signed, for any app and in any environment: to look at what is there.
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
