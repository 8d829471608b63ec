import Foundation
import Synchronization
import Testing

@testable import Ledger

@Suite struct DatabaseBackoffTests {
    /// A clock that passes only by what is slept.
    private final class StandingClock: Sendable {
        private let state = Mutex<(passed: Duration, slept: [Duration])>((.zero, []))

        var slept: [Duration] { state.withLock { $0.slept } }

        /// - Parameter random: what is drawn of a range.
        func time(_ random: @escaping @Sendable (ClosedRange<Double>) -> Double = { $0.upperBound })
            -> DatabaseBackoff.Time
        {
            DatabaseBackoff.Time(
                now: { self.state.withLock { $0.passed } },
                sleep: { pause in
                    self.state.withLock {
                        $0.passed += pause
                        $0.slept.append(pause)
                    }
                },
                random: random)
        }
    }

    @Test func triesButOnceWithoutPatience() async {
        let clock = StandingClock()
        var backoff = DatabaseBackoff(within: 0, pause: 1...1, time: clock.time())
        #expect(await !backoff.mayTryAgain())
        #expect(clock.slept.isEmpty)
    }

    @Test func triesUntilItsTimeIsOver() async {
        let clock = StandingClock()
        var backoff = DatabaseBackoff(within: 2.5, pause: 1...1, time: clock.time())
        var attempts = 0
        while await backoff.mayTryAgain() { attempts += 1 }
        #expect(attempts == 3)
        #expect(clock.slept == [.seconds(1), .seconds(1), .seconds(1)])
    }

    @Test func pausesGrowUpToTheLongest() async {
        let clock = StandingClock()
        var backoff = DatabaseBackoff(within: 10, pause: 0...0.5, growingTo: 3, time: clock.time())
        while await backoff.mayTryAgain() {}
        #expect(clock.slept == [0.5, 1, 2, 3, 3, 3].map { .seconds($0) })
    }

    @Test func pausesAreDrawnFromTheirRange() async {
        let clock = StandingClock()
        var backoff = DatabaseBackoff(within: 1, pause: 0.1...0.5, time: clock.time { $0.lowerBound })
        while await backoff.mayTryAgain() {}
        #expect(clock.slept.count == 10 && Set(clock.slept) == [.seconds(0.1)])
    }

    @Test func endsWithItsTask() async {
        let clock = StandingClock()
        let task = Task {
            var backoff = DatabaseBackoff(within: 1_000_000, pause: 1...1, time: clock.time())
            while await backoff.mayTryAgain() { await Task.yield() }
        }
        task.cancel()
        await task.value
        #expect(task.isCancelled)
    }
}
