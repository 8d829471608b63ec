/// The App Store environment that a receipt was made in. Production and sandbox number their transactions
/// independently of each other.
public enum Environment: String, Hashable, Sendable, Codable, CaseIterable {
    case production = "Production"
    case sandbox = "Sandbox"
}
