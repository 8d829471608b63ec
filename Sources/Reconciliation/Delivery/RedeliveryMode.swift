/// Which of its findings the night has an app's server deliver without the customer.
public enum RedeliveryMode: String, Hashable, Sendable, CaseIterable {
    case never
    /// Cases of high likelihood that have one certain owner.
    case high
}
