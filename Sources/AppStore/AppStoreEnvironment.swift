/// Where a purchase was made, as Apple's signed payloads spell it.
public enum AppStoreEnvironment: String, Sendable, Hashable, CaseIterable {
    case production = "Production"
    case sandbox = "Sandbox"
    /// StoreKit testing in Xcode: signed on a developer's machine, by anyone.
    case xcode = "Xcode"
    /// StoreKit testing of an app that runs outside Xcode: signed by anyone as well.
    case localTesting = "LocalTesting"

    /// Whether Apple signs what is bought there.
    public var isSignedByApple: Bool {
        switch self {
        case .production, .sandbox: true
        case .xcode, .localTesting: false
        }
    }
}
