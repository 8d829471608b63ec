public import Foundation

/// How customers of an app are asked about again.
public struct Reasking: Hashable, Sendable {
    /// Seconds; customers who bought or uploaded nothing for longer are not asked about.
    public let window: TimeInterval
    /// Seconds from one question about a customer to the next.
    public let interval: TimeInterval

    public init(window: TimeInterval, interval: TimeInterval) {
        self.window = window
        self.interval = interval
    }

    /// Customers who were not seen since then are not asked about at that moment.
    public func windowStart(at now: Date) -> Date { now - window }
}
