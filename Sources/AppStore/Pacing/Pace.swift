public import Foundation

/// The clocks, the waiting and the random numbers of pacing: all that it takes from outside, in one value, so that
/// tests neither wait nor depend on chance.
public struct Pace: Sendable {
    /// The calendar's time, used only with times that Apple names (`Retry-After`).
    public var date: @Sendable () -> Date
    /// Seconds on a clock that never jumps.
    public var uptime: @Sendable () -> TimeInterval
    /// Waits this many seconds, or throws as soon as the task is cancelled.
    public var sleep: @Sendable (_ seconds: TimeInterval) async throws(CancellationError) -> Void
    /// A number from 0 up to, not including, 1.
    public var random: @Sendable () -> Double

    public init(
        date: @escaping @Sendable () -> Date,
        uptime: @escaping @Sendable () -> TimeInterval,
        sleep: @escaping @Sendable (_ seconds: TimeInterval) async throws(CancellationError) -> Void,
        random: @escaping @Sendable () -> Double
    ) {
        self.date = date
        self.uptime = uptime
        self.sleep = sleep
        self.random = random
    }

    /// The machine's clocks and its random numbers.
    public static let real = Pace(
        date: { Date() },
        uptime: { ProcessInfo.processInfo.systemUptime },
        sleep: { (seconds: TimeInterval) async throws(CancellationError) in
            do {
                try await Task.sleep(for: .seconds(seconds))
            } catch {
                throw CancellationError()
            }
        },
        random: { Double.random(in: 0..<1) })
}
