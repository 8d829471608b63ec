import AppStore
import Foundation
import Synchronization

/// Time that passes only when somebody sleeps, and chance that always falls the same way.
final class TestPace: Sendable {
    private let state = Mutex((elapsed: 0.0, sleeps: [TimeInterval]()))
    private let start: Date
    private let random: Double

    init(start: Date = Date(timeIntervalSince1970: 1_795_230_000), random: Double = 0.5) {
        self.start = start
        self.random = random
    }

    /// How long each sleep was, in the order in which they began.
    var sleeps: [TimeInterval] { state.withLock { $0.sleeps } }

    var pace: Pace {
        Pace(
            date: { [self] in start.addingTimeInterval(elapsed) },
            uptime: { [self] in elapsed },
            sleep: { [self] (seconds: TimeInterval) async throws(CancellationError) in
                guard !Task.isCancelled else { throw CancellationError() }
                advance(by: seconds)
            },
            random: { [random] in random })
    }

    func advance(by seconds: TimeInterval) {
        state.withLock { state in
            state.elapsed += seconds
            state.sleeps.append(seconds)
        }
    }

    private var elapsed: TimeInterval { state.withLock { $0.elapsed } }
}
