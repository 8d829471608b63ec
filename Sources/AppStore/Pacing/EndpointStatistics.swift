/// What was asked of one server so far.
public struct EndpointStatistics: Sendable, Hashable {
    /// Requests sent, retries included.
    public var requests = 0
    /// Requests that were sent again within the run.
    public var retries = 0
    /// HTTP status 429.
    public var tooManyRequests = 0
    /// Requests that found no server: dead connections, time-outs, HTTP 5xx, HTML.
    public var unanswered = 0
    /// How many requests may be in flight now.
    public var concurrencyLimit: Int
    public var isCircuitOpen = false

    public init(concurrencyLimit: Int) {
        self.concurrencyLimit = concurrencyLimit
    }
}
