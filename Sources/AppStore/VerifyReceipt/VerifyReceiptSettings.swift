public import Foundation

/// How `verifyReceipt` is asked.
public struct VerifyReceiptSettings: Sendable, Hashable {
    public var production: String
    public var sandbox: String
    /// Seconds for one request.
    public var timeout: TimeInterval
    /// The most requests in flight to one endpoint; the adaptive limit never exceeds it.
    public var concurrency: Int
    /// The most requests a second to one endpoint; `nil` for no limit.
    public var requestsPerSecond: Double?
    public var retries: Backoff
    public var circuit: CircuitBreaker.Thresholds

    public init(
        production: String = "https://buy.itunes.apple.com/verifyReceipt",
        sandbox: String = "https://sandbox.itunes.apple.com/verifyReceipt", timeout: TimeInterval = 30,
        concurrency: Int = 64, requestsPerSecond: Double? = nil, retries: Backoff = Backoff(),
        circuit: CircuitBreaker.Thresholds = CircuitBreaker.Thresholds()
    ) {
        self.production = production
        self.sandbox = sandbox
        self.timeout = timeout
        self.concurrency = concurrency
        self.requestsPerSecond = requestsPerSecond
        self.retries = retries
        self.circuit = circuit
    }
}
