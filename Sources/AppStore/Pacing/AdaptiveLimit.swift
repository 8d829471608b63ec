import Foundation

/// How many requests may be in flight: halved when the server is overloaded, and raised additively afterwards, as TCP
/// does. A few failures, which any service has, are no sign of load: only many within a round trip are.
struct AdaptiveLimit: Sendable {
    /// What a request showed of the server's load.
    enum Sign: Sendable, Hashable {
        case served
        /// The server says so: HTTP 429 or 503.
        case overloaded
        /// It failed, possibly because of load: another 5xx, or no answer in time.
        case failed
        /// It shows nothing of the load.
        case other

        /// The sign that a response without an answer gives, by its HTTP status.
        init(unanswered status: Int) {
            self =
                switch status {
                case 429, 503: .overloaded
                case 500...599: .failed
                default: .other
                }
        }
    }

    private let ceiling: Double
    private var current: Double
    /// The number of the request that starts next.
    private var next = 0
    /// Requests with a lower number started before the limit was last halved. They show the load of that time, so one
    /// round trip halves the limit only once.
    private var firstAfterCut = 0
    /// How many requests have ended in the present round trip; `failed` counts those of them that failed.
    private var ended = 0
    private var failed = 0

    /// Begins at the ceiling, which is at least 1.
    init(ceiling: Int) {
        self.ceiling = Double(max(1, ceiling))
        self.current = self.ceiling
    }

    /// The most requests that may be in flight now.
    var limit: Int { Int(current) }

    /// Notes the start of a request; returns the number to pass to `end`.
    mutating func start() -> Int {
        defer { next += 1 }
        return next
    }

    /// Notes how the request with this number ended. A round trip of served requests raises the limit by a sixteenth of
    /// the ceiling, so recovery takes 16 round trips, whatever the ceiling.
    mutating func end(_ request: Int, _ sign: Sign) {
        ended += 1
        switch sign {
        case .served: current = min(ceiling, current + max(1, ceiling / 16) / current)
        case .overloaded where request >= firstAfterCut: cut()
        case .failed where request >= firstAfterCut:
            failed += 1
            if failed > tolerated { cut() }
        case .overloaded, .failed, .other: break
        }
        if ended >= limit { (ended, failed) = (0, 0) }
    }

    /// How many requests of a round trip may fail: an eighth.
    private var tolerated: Int { max(1, limit / 8) }

    private mutating func cut() {
        current = max(1, (current / 2).rounded(.down))
        firstAfterCut = next
        (ended, failed) = (0, 0)
    }
}
