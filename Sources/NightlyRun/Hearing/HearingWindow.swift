import Foundation
import Reconciliation

/// A span of time for which Apple's history of notifications is asked, beside others.
struct HearingWindow: Hashable {
    let start: Date
    let end: Date

    private static let day: TimeInterval = 86_400
    /// By which of its dates a notification is found is not documented, and one may be listed late.
    static let overlap = day

    /// The windows from where the history was read up to, less a day; the first time from `since`, or as far back as
    /// Apple keeps it: 180 days, and 30 in sandbox.
    static func all(
        through: Date?, since: Date?, _ environment: Environment, now: Date
    ) -> [HearingWindow] {
        let start = min(now, through.map { $0 - overlap } ?? since ?? .distantPast)
        return between(max(kept(environment, now), start), and: now)
    }

    /// The windows before the moment from which the history was read, the latest first: those that a `since` lets through
    /// that was moved back.
    static func earlier(
        than heardFrom: Date?, since: Date?, _ environment: Environment, now: Date
    ) -> [HearingWindow] {
        let start = max(kept(environment, now), since ?? .distantPast)
        // The ledger keeps microseconds.
        guard let heardFrom, start < heardFrom - 1 else { return [] }
        return between(start, and: min(now, heardFrom + overlap)).reversed()
    }

    /// From when on Apple keeps what it told.
    private static func kept(_ environment: Environment, _ now: Date) -> Date {
        now - (environment == .production ? 180 : 30) * day + 600
    }

    private static func between(_ start: Date, and end: Date) -> [HearingWindow] {
        // Hours of some days, days of some months: enough to be asked side by side, and few questions in vain.
        let length = end.timeIntervalSince(start) > 4 * day ? day : 3600
        var windows: [HearingWindow] = []
        var from = start
        while from < end {
            let to = min(end, from + length)
            windows.append(HearingWindow(start: from, end: to))
            from = to
        }
        return windows
    }
}
