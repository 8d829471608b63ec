/// One of Apple's two servers, as their answers spell it.
public enum ServerEnvironment: String, Sendable, Hashable, CaseIterable {
    case production = "Production"
    case sandbox = "Sandbox"

    /// The environment that an answer of this one may refer to.
    var other: ServerEnvironment {
        switch self {
        case .production: .sandbox
        case .sandbox: .production
        }
    }
}
