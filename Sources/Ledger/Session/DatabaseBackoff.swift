public import Foundation

/// When to try again what a lock of another session, or a restart of the database, was in the way of: until a deadline,
/// after pauses that may grow. The one place that decides so for the database, as `Backoff` of `AppStore` does for
/// HTTP.
public struct DatabaseBackoff: Sendable {
    /// How a back-off knows the time and lets it pass; a test has its own.
    public struct Time: Sendable {
        /// The time since any moment that stays the same.
        var now: @Sendable () -> Duration
        var sleep: @Sendable (Duration) async throws -> Void
        var random: @Sendable (ClosedRange<Double>) -> Double

        public init(
            now: @escaping @Sendable () -> Duration, sleep: @escaping @Sendable (Duration) async throws -> Void,
            random: @escaping @Sendable (ClosedRange<Double>) -> Double
        ) {
            self.now = now
            self.sleep = sleep
            self.random = random
        }

        private static let start = ContinuousClock.now

        public static let continuous = Time(
            now: { start.duration(to: .now) }, sleep: { try await Task.sleep(for: $0) },
            random: { Double.random(in: $0) })
    }

    private let time: Time
    private let deadline: Duration
    private var pause: ClosedRange<Double>
    private let longest: Double

    /// - Parameters:
    ///   - seconds: how long it is tried again; 0 to try only once.
    ///   - pause: seconds between two attempts, drawn at random.
    ///   - longest: the length to which a pause grows, twice as long each time; `nil` if it stays the same.
    public init(
        within seconds: TimeInterval, pause: ClosedRange<Double>, growingTo longest: Double? = nil,
        time: Time = .continuous
    ) {
        self.time = time
        self.pause = pause
        self.longest = longest ?? pause.upperBound
        deadline = time.now() + .seconds(seconds)
    }

    /// Waits for the next attempt, if there is to be one.
    ///
    /// - Returns: `false`, at once, when the time is over or the task was cancelled.
    public mutating func mayTryAgain() async -> Bool {
        guard time.now() < deadline, !Task.isCancelled else { return false }
        try? await time.sleep(.seconds(time.random(pause)))
        pause = pause.lowerBound...max(pause.lowerBound, min(pause.upperBound * 2, longest))
        return true
    }
}
