/// One of Apple's two servers, as their answers spell it.
public enum ServerEnvironment: String, Sendable, Hashable, CaseIterable {
    case production = "Production"
    case sandbox = "Sandbox"
}
