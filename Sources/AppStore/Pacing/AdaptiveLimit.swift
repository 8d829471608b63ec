import Foundation

/// How many requests may be in flight: it halves when the server is overloaded and recovers additively, as TCP does.
struct AdaptiveLimit: Sendable {
    /// What a request told of the server's load.
    enum Sign: Sendable, Hashable {
        case served
        /// HTTP 429, 5xx, or no answer in time.
        case overloaded
        /// Nothing of its load.
        case other
    }

    private let ceiling: Double
    private var current: Double
    /// The number of the request that starts next.
    private var next = 0
    /// Requests before this one started before the limit was last halved: what they meet is the load of before, so
    /// that one round trip halves the limit once.
    private var firstAfterCut = 0

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
        switch sign {
        case .served:
            current = min(ceiling, current + max(1, ceiling / 16) / current)
        case .overloaded where request >= firstAfterCut:
            current = max(1, (current / 2).rounded(.down))
            firstAfterCut = next
        case .overloaded, .other:
            break
        }
    }
}
