public import Foundation

/// How customers of an app are asked about again.
public struct Reasking: Hashable, Sendable {
    /// Those are, who bought or uploaded something in the last so many seconds.
    public let window: TimeInterval
    /// Seconds from one question about a customer to the next.
    public let interval: TimeInterval

    public init(window: TimeInterval, interval: TimeInterval) {
        self.window = window
        self.interval = interval
    }

    /// Who was not seen since then is not asked about at that moment.
    public func windowStart(at now: Date) -> Date { now - window }
}
