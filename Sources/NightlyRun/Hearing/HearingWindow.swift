import Foundation
import Reconciliation

/// A span of time for which Apple's history of notifications is read, side by side with others.
struct HearingWindow: Hashable {
    let start: Date
    let end: Date

    private static let day: TimeInterval = 86_400
    /// It is not documented by which of its dates a notification is found, and one may be listed late.
    static let overlap = day
    /// Apple refuses a start before the time for which it keeps its history, by its own clock.
    static let margin: TimeInterval = 2 * 3600

    /// The windows from the time up to which the history was read, less a day. The first time they begin with `since`,
    /// or as far back as Apple keeps the history: 180 days, and 30 in sandbox.
    static func all(
        through: Date?, since: Date?, _ environment: Environment, now: Date
    ) -> [HearingWindow] {
        let start = min(now, through.map { $0 - overlap } ?? since ?? .distantPast)
        return between(max(kept(environment, now), start), and: now)
    }

    /// The windows before the time from which the history was read, the latest first. There are some if `since` was
    /// moved back.
    static func earlier(
        than heardFrom: Date?, since: Date?, _ environment: Environment, now: Date
    ) -> [HearingWindow] {
        let start = max(kept(environment, now), since ?? .distantPast)
        // The ledger keeps microseconds.
        guard let heardFrom, start < heardFrom - 1 else { return [] }
        return between(start, and: min(now, heardFrom + overlap)).reversed()
    }

    /// The time from which on Apple keeps its history.
    private static func kept(_ environment: Environment, _ now: Date) -> Date {
        now - (environment == .production ? 180 : 30) * day + margin
    }

    private static func between(_ start: Date, and end: Date) -> [HearingWindow] {
        // An hour each for some days, a day each for some months: enough to ask side by side, and few questions in
        // vain.
        let length = end.timeIntervalSince(start) > 4 * day ? day : 3600
        var windows: [HearingWindow] = []
        var from = start
        while from < end {
            // The last takes in the remainder. Alone that might be a second long, and begin after Apple's present if
            // Apple's clock is a little behind: then Apple refuses it.
            let to = end.timeIntervalSince(from) < 2 * length ? end : from + length
            windows.append(HearingWindow(start: from, end: to))
            from = to
        }
        return windows
    }
}
