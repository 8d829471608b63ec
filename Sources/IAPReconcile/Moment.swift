import Foundation

/// Moments as ISO 8601 writes them: `2026-11-21T03:00:00Z`, with fractions or another zone (`+08:00`) where wanted.
enum Moment {
    static func parse(_ text: String) -> Date? {
        let whole = Date.ISO8601FormatStyle()
        let fractional = Date.ISO8601FormatStyle(includingFractionalSeconds: true)
        return (try? whole.parse(text)) ?? (try? fractional.parse(text))
    }

    /// A moment in UTC, to the second.
    static func text(_ moment: Date) -> String {
        moment.formatted(.iso8601)
    }
}
