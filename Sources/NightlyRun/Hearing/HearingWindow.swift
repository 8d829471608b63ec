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
        let kept = now - (environment == .production ? 180 : 30) * day + 600
        let start = max(kept, min(now, through.map { $0 - overlap } ?? since ?? .distantPast))
        guard start < now else { return [] }
        // Hours of some days, days of some months: enough to be asked side by side, and few questions in vain.
        let length = now.timeIntervalSince(start) > 4 * day ? day : 3600
        var windows: [HearingWindow] = []
        var from = start
        while from < now {
            let to = min(now, from + length)
            windows.append(HearingWindow(start: from, end: to))
            from = to
        }
        return windows
    }
}
