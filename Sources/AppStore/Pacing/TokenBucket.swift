import Foundation

/// A rate limit: each request takes a token, and tokens come back at a steady rate. The state is the one time at which
/// the next token is due, so requests that must wait are let through in order and evenly.
struct TokenBucket: Sendable {
    /// Seconds between two tokens.
    private let interval: TimeInterval
    /// How far in the past the due time may lie: the tokens of a full bucket, without the one that is taken.
    private let slack: TimeInterval
    private var due: TimeInterval = -.infinity

    /// Makes a bucket that yields `rate` tokens a second. A full one holds the tokens of a tenth of a second, but at
    /// least one: a larger burst would break a limit that is counted by the second.
    init(rate: Double) {
        interval = 1 / max(rate, 0.001)
        slack = max(0, 0.1 - interval)
    }

    /// Takes a token; returns how many seconds to wait before using it.
    mutating func take(at now: TimeInterval) -> TimeInterval {
        let start = max(due, now - slack)
        due = start + interval
        return max(0, start - now)
    }
}
