public import Reconciliation

/// Why a file is no sales report that can be read. Nothing of it was taken.
public enum SalesError: Error, Hashable, Sendable {
    case unreadable(file: String, why: String)
    case empty(file: String)
    /// The header has not the columns of a Summary Sales report.
    case missingColumns([String], file: String)
    case repeatedColumn(String, file: String)
    /// It is compressed, and broken or cut off.
    case damaged(file: String)
    /// A report of a week, a month or a year: its units belong to no day.
    case notDaily(file: String, line: Int, begin: CalendarDay, end: CalendarDay)
}

extension SalesError {
    package init(_ error: ImportError, file: String) {
        guard case .unreadable(let file, let why) = error else {
            self = .unreadable(file: file, why: "\(error)")
            return
        }
        self = .unreadable(file: file, why: why)
    }
}
