/// Which transaction somebody of the support desk speaks of.
public struct DeskSubject: Hashable, Sendable {
    public var transactionID: TransactionID
    /// Where the same id is known in several apps or environments: which is meant.
    public var bundleID: BundleID?
    public var environment: Environment?

    public init(transactionID: TransactionID, bundleID: BundleID? = nil, environment: Environment? = nil) {
        self.transactionID = transactionID
        self.bundleID = bundleID
        self.environment = environment
    }
}
