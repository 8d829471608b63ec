import Synchronization

/// Lets callers through at the rate of a token bucket.
final class RateLimiter: Sendable {
    private let bucket: Mutex<TokenBucket>
    private let pace: Pace

    init(requestsPerSecond: Double, pace: Pace) {
        self.bucket = Mutex(TokenBucket(rate: requestsPerSecond))
        self.pace = pace
    }

    /// Waits for the caller's turn.
    func waitForTurn() async throws(CancellationError) {
        let wait = bucket.withLock { $0.take(at: pace.uptime()) }
        if wait > 0 { try await pace.sleep(wait) }
    }
}
