public import Reconciliation

/// Why a file can't be read as a sales report. Nothing of it was taken.
public enum SalesError: Error, Hashable, Sendable {
    case unreadable(file: String, why: String)
    case empty(file: String)
    /// The header lacks columns of a Summary Sales report.
    case missingColumns([String], file: String)
    case repeatedColumn(String, file: String)
    /// It is compressed, and damaged or cut off.
    case damaged(file: String)
    /// Once decompressed it has more bytes than are taken of Apple.
    case tooLarge(file: String, limit: Int)
    /// A report of a week, a month or a year: its units belong to no day.
    case notDaily(file: String, line: Int, begin: CalendarDay, end: CalendarDay)
    /// The report of one day was asked for, and this one is of another.
    case ofAnotherDay(file: String, asked: CalendarDay, day: CalendarDay)
}

extension SalesError: CustomStringConvertible {
    /// Why it can't be read, and what to do.
    public var description: String {
        switch self {
        case .unreadable(let file, let why): "\(file) can't be read: \(why)"
        case .empty(let file): "\(file) is empty: a sales report begins with a header"
        case .missingColumns(let names, let file):
            "\(file) is no Summary Sales report: it has no column \(names.joined(separator: ", "))"
        case .repeatedColumn(let name, let file): "the header of \(file) names the column “\(name)” twice"
        case .damaged(let file): "\(file) is damaged: it is no whole gzip file; fetch it again"
        case .tooLarge(let file, let limit):
            "\(file) has more than \(limit >> 20) MiB once it is decompressed; nothing of it was taken"
        case .notDaily(let file, let line, let begin, let end):
            """
            \(file) is no daily report: line \(line) tells of \(begin) to \(end). Fetch the reports of its days; \
            nothing of it was taken
            """
        case .ofAnotherDay(let file, let asked, let day):
            "\(file) should be the report of \(asked) and tells of \(day); nothing of it was taken"
        }
    }
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
