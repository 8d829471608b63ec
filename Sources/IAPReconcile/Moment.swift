import Foundation
import Reconciliation

/// Moments in ISO 8601: `2026-11-21T03:00:00Z`, optionally with fractions or another zone (`+08:00`).
enum Moment {
    static func parse(_ text: String) -> Date? {
        guard exists(text) else { return nil }
        let whole = Date.ISO8601FormatStyle()
        let fractional = Date.ISO8601FormatStyle(includingFractionalSeconds: true)
        return (try? whole.parse(text)) ?? (try? fractional.parse(text))
    }

    /// Whether the day and hour exist: Foundation lets an impossible one run over into the next.
    private static func exists(_ text: String) -> Bool {
        let clock = text.dropFirst(11).prefix(8).split(separator: ":").compactMap { Int($0) }
        return CalendarDay(String(text.prefix(10))) != nil && clock.count == 3
            && zip(clock, [24, 60, 60]).allSatisfy { $0 < $1 }
    }

    /// A moment in UTC, to the second.
    static func text(_ moment: Date) -> String {
        moment.formatted(.iso8601)
    }
}
