import Foundation
import Reconciliation

extension Command {
    static func statement(_ operands: [String], _ options: OptionValues) throws(UsageError) -> Command {
        guard let text = operands.first, operands.count == 1 else {
            throw UsageError("statement needs one month, such as 2026-10")
        }
        guard let first = CalendarDay(text + "-01") else {
            throw UsageError("“\(text)” is no month such as 2026-10")
        }
        let format: StatementFormat? = try options.choice("format")
        guard format != .xlsx || isatty(STDOUT_FILENO) == 0 else {
            throw UsageError("a spreadsheet is nothing for a terminal; write it to a file with > statement.xlsx")
        }
        return .statement(
            StatementOptions(
                first: first, asOf: try options.day("as-of"), app: try options.bundleID("app"), format: format ?? .csv))
    }
}

extension OptionValues {
    /// A day of the calendar.
    fileprivate func day(_ name: String) throws(UsageError) -> CalendarDay? {
        guard let text = try text(name) else { return nil }
        guard let day = CalendarDay(text) else {
            throw UsageError("--\(name) is a day such as 2026-10-31, not “\(text)”")
        }
        return day
    }

    /// The id of an app.
    func bundleID(_ name: String) throws(UsageError) -> BundleID? {
        guard let text = try text(name) else { return nil }
        guard let bundleID = BundleID(text) else { throw UsageError("“\(text)” can't be a bundle id") }
        return bundleID
    }
}
