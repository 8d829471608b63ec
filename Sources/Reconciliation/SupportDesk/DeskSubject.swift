/// The transaction of which somebody of the support desk speaks.
public struct DeskSubject: Hashable, Sendable {
    public var transactionID: TransactionID
    /// Which is meant, if the same id is known in several apps or environments.
    public var bundleID: BundleID?
    public var environment: Environment?

    public init(transactionID: TransactionID, bundleID: BundleID? = nil, environment: Environment? = nil) {
        self.transactionID = transactionID
        self.bundleID = bundleID
        self.environment = environment
    }
}
