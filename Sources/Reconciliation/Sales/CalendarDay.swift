import CivilTime

/// A day of the calendar, in whichever zone it is meant: a date without a time.
public struct CalendarDay: Hashable, Sendable, Comparable, CustomStringConvertible {
    public let year, month, day: Int

    /// `nil` if the calendar has no such day, or if its year does not have four digits.
    public init?(year: Int, month: Int, day: Int) {
        guard CivilDate(year: year, month: month, day: day) != nil else { return nil }
        (self.year, self.month, self.day) = (year, month, day)
    }

    /// `2026-11-20`, as ISO 8601 and PostgreSQL write it.
    public init?(_ text: String) {
        let parts = text.split(separator: "-", omittingEmptySubsequences: false)
        guard parts.map(\.utf8.count) == [4, 2, 2] else { return nil }
        self.init(parts[0], parts[1], parts[2])
    }

    /// `11/20/2026`, as Apple's sales reports write it.
    public init?(american text: String) {
        let parts = text.split(separator: "/", omittingEmptySubsequences: false)
        guard parts.map(\.utf8.count) == [2, 2, 4] else { return nil }
        self.init(parts[2], parts[0], parts[1])
    }

    private init?(_ year: Substring, _ month: Substring, _ day: Substring) {
        let digits = UInt8(ascii: "0")...UInt8(ascii: "9")
        guard [year, month, day].allSatisfy({ $0.utf8.allSatisfy(digits.contains) }),
            let year = Int(year), let month = Int(month), let day = Int(day)
        else { return nil }
        self.init(year: year, month: month, day: day)
    }

    public var description: String { "\(year)-\(Self.twoDigits(month))-\(Self.twoDigits(day))" }

    public static func < (a: CalendarDay, b: CalendarDay) -> Bool {
        (a.year, a.month, a.day) < (b.year, b.month, b.day)
    }

    /// The last day of its month.
    public var lastOfMonth: CalendarDay {
        CalendarDay(year: year, month: month, day: CivilDate.length(ofMonth: month, year)) ?? self
    }

    private static func twoDigits(_ number: Int) -> String { number < 10 ? "0\(number)" : "\(number)" }
}
