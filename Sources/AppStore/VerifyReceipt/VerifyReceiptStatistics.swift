/// What was asked of `verifyReceipt` so far.
public struct VerifyReceiptStatistics: Sendable, Hashable {
    public var production: EndpointStatistics
    public var sandbox: EndpointStatistics

    public init(production: EndpointStatistics, sandbox: EndpointStatistics) {
        self.production = production
        self.sandbox = sandbox
    }
}
