/// Whether the night has an app's server deliver what it found, without the customer.
public enum RedeliveryMode: String, Hashable, Sendable, CaseIterable {
    case never
    /// What is likely lost, of high likelihood, and has one certain owner.
    case high
}
