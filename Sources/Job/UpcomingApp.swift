package import Foundation
package import Reconciliation
package import Verification

/// An app whose `since` is still to come: its server goes live soon, or a digit of it is wrong.
package struct UpcomingApp: Sendable {
    package let bundleID: BundleID
    package let since: Date
    /// Whether it lies so far ahead that a night must not go by it: all open cases would be withdrawn.
    package let isTooFarAhead: Bool

    /// Seconds beyond which a year or a month is more likely wrong than somebody so early.
    private static let furthest: TimeInterval = 31 * 86_400

    /// The apps whose `since` is after the present.
    package static func among(_ apps: [AppSettings], at present: Date) -> [UpcomingApp] {
        apps.compactMap { app in
            guard let since = app.app.since, since > present else { return nil }
            return UpcomingApp(
                bundleID: app.app.bundleID, since: since,
                isTooFarAhead: since.timeIntervalSince(present) > furthest)
        }
    }

    package var text: String {
        "since = \(since.formatted(.iso8601)) is still to come: nothing that is bought before it is looked at, and "
            + "claims of it are refused"
    }

    package var remedy: String {
        isTooFarAhead
            ? "Set it right, or write it a month before it comes: until then no night is run."
            : "Set it right, unless its server goes live then."
    }
}

extension [UpcomingApp] {
    /// - Throws: `JobError.configuration` if one lies too far ahead.
    package func check(log: (LogEntry) -> Void) throws(JobError) {
        if let app = first(where: \.isTooFarAhead) {
            throw .configuration("app \(app.bundleID): \(app.text). \(app.remedy) Nothing was done.")
        }
        for app in self { log(LogEntry(.warning, "app \(app.bundleID): \(app.text)")) }
    }
}
