import Foundation

/// How many requests may be in flight: it halves when the server is overloaded and recovers additively, as TCP does. A
/// failure here and there, as any service has, is no sign of load: only many within a round trip are.
struct AdaptiveLimit: Sendable {
    /// What a request told of the server's load.
    enum Sign: Sendable, Hashable {
        case served
        /// The server says so: HTTP 429 or 503.
        case overloaded
        /// It failed, which load may have caused: another 5xx, or no answer in time.
        case failed
        /// Nothing of its load.
        case other

        /// What an answer tells that is none, by its HTTP status.
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
    /// Requests before this one started before the limit was last halved: what they meet is the load of before, so
    /// that one round trip halves the limit once.
    private var firstAfterCut = 0
    /// Of the requests that end in the present round trip, all and those that failed.
    private var ended = 0
    private var failed = 0

    /// Begins at the ceiling, which is at least 1.
    init(ceiling: Int) {
        self.ceiling = Double(max(1, ceiling))
        self.current = self.ceiling
    }

    /// The most requests that may be in flight now.
    var limit: Int { Int(current) }

    /// Notes the start of a request; its end is told with the number that this returns.
    mutating func start() -> Int {
        defer { next += 1 }
        return next
    }

    /// Notes how the request with this number ended. A round trip of served requests raises the limit by a sixteenth
    /// of the ceiling, so recovery takes 16 round trips whatever the ceiling is.
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
