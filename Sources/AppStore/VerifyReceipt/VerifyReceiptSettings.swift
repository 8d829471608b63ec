public import Foundation

/// How `verifyReceipt` is asked.
public struct VerifyReceiptSettings: Sendable, Hashable {
    public var production = "https://buy.itunes.apple.com/verifyReceipt"
    public var sandbox = "https://sandbox.itunes.apple.com/verifyReceipt"
    /// Seconds for one request.
    public var timeout: TimeInterval = 30
    /// The most requests in flight to one endpoint; the adaptive limit never exceeds it.
    public var concurrency = 64
    /// The most requests a second to one endpoint; `nil` for no limit.
    public var requestsPerSecond: Double?
    public var retries = Backoff()
    public var circuit = CircuitBreaker.Thresholds()

    public init() {}
}
