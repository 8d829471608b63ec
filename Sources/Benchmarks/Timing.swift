import Foundation

/// The seconds that something took.
enum Timing {
    /// Seconds of this thread's processor time, which other programs on the machine don't increase.
    static func processor<Failure: Error>(_ body: () throws(Failure) -> Void) throws(Failure) -> Double {
        let start = threadTime()
        try body()
        return threadTime() - start
    }

    static func wall(_ body: () async throws -> Void) async rethrows -> Double {
        let start = ContinuousClock.now
        try await body()
        return (ContinuousClock.now - start) / .seconds(1)
    }

    private static func threadTime() -> Double {
        var time = timespec()
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
        return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
    }

    /// The least seconds of each body. The bodies take turns, so that a slow period affects all of them.
    static func best<Failure: Error>(
        of rounds: Int, _ bodies: [() throws(Failure) -> Void]
    ) throws(Failure) -> [Double] {
        var best = bodies.map { _ in Double.infinity }
        for _ in 0..<rounds {
            for (index, body) in bodies.enumerated() { best[index] = min(best[index], try processor(body)) }
        }
        return best
    }
}
