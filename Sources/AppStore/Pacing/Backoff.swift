public import Foundation

/// How often a request is tried within a run, and how long it waits in between: exponential with full jitter, so
/// that requests which failed together don't come back together.
public struct Backoff: Sendable, Hashable {
    /// How often one request is tried, the first time included.
    public var attempts: Int
    /// The most seconds before the second attempt; each later one may wait twice as long as the one before.
    public var base: TimeInterval
    /// The most seconds before any attempt, unless the server names a time.
    public var cap: TimeInterval
    /// The longest `Retry-After`, in seconds, that is waited for; a longer one ends the attempts.
    public var longestRetryAfter: TimeInterval

    public init(
        attempts: Int = 4, base: TimeInterval = 0.5, cap: TimeInterval = 20, longestRetryAfter: TimeInterval = 60
    ) {
        self.attempts = attempts
        self.base = base
        self.cap = cap
        self.longestRetryAfter = longestRetryAfter
    }

    /// What to do after a failed attempt.
    public enum Step: Sendable, Hashable {
        /// Try again in that many seconds.
        case wait(TimeInterval)
        /// The attempts are used up.
        case giveUp
        /// The server asks for more seconds than a run waits.
        case tooLong(TimeInterval)
    }

    /// The step after the attempt with this number, the first being 1.
    ///
    /// - Parameters:
    ///   - retryAfter: the seconds that the server asked to wait.
    ///   - random: from 0 up to 1. After `retryAfter` it spreads the requests that come back.
    public func step(afterAttempt attempt: Int, retryAfter: TimeInterval?, random: Double) -> Step {
        if let retryAfter, retryAfter > longestRetryAfter { return .tooLong(retryAfter) }
        guard attempt < attempts else { return .giveUp }
        let jitter = random * min(cap, base * pow(2, Double(min(attempt, 60) - 1)))
        return .wait((retryAfter ?? 0) + jitter)
    }
}
