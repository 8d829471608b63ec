public import Job
import Ledger
public import Reconciliation
import Verification

/// Finance's statement of a month.
public struct StatementDesk: Sendable {
    private let settings: JobSettings

    public init(settings: JobSettings) {
        self.settings = settings
    }

    /// What was booked from the first day of a month through its last, or through an earlier day as it was known then.
    ///
    /// - Parameters:
    ///   - first: the first day of the month.
    ///   - asOf: the last day that the statement covers, which lies in the month.
    ///   - app: the only app that it covers.
    /// - Throws: `JobError.notFound` if that day is of another month or not closed yet, or if nobody knows the app.
    public func statement(
        of first: CalendarDay, asOf: CalendarDay?, app: BundleID?
    ) async throws(JobError) -> Statement {
        let last = asOf ?? first.lastOfMonth
        guard last >= first else { throw .notFound("\(last) lies before the month begins.") }
        guard last <= first.lastOfMonth else { throw .notFound("\(last) lies after the month's end.") }
        let found = try await withLedger(settings.ledger) { session async throws(LedgerError) -> Found in
            let closed = try await session.closedThrough()
            guard let closed, last <= closed else { return .notClosed(since: closed) }
            return .statement(try await session.statement(from: first, through: last, app: app))
        }
        switch found {
        case .statement(let statement):
            guard let app, statement.isEmpty, !settings.apps.contains(where: { $0.app.bundleID == app }) else {
                return statement
            }
            throw .notFound("Nothing of \(app) was booked or sold by \(last), and there is no section [app \(app)].")
        case .notClosed(nil): throw .notFound("No run has closed its books yet; run “iap-reconcile run” first.")
        case .notClosed(let closed?) where closed < first:
            throw .notFound(
                "No day from \(first) on is closed yet: a day is closed by the first run after it. The last that is closed is "
                    + "\(closed).")
        case .notClosed(let closed?):
            throw .notFound(
                "\(last) is not closed yet: a day is closed by the first run after it. The last that is closed is \(closed); "
                    + "name it, or an earlier one, with --as-of.")
        }
    }

    private enum Found {
        case statement(Statement)
        case notClosed(since: CalendarDay?)
    }
}
