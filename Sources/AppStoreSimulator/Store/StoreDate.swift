import Foundation

/// A moment as `verifyReceipt` writes it for people.
struct StoreDate {
    enum Zone: String {
        case gmt = " Etc/GMT"
        case pacific = " America/Los_Angeles"
    }

    private let seconds: Int64

    init(_ date: Date) {
        seconds = Int64(date.timeIntervalSince1970.rounded(.down))
    }

    /// `2014-09-02 03:29:06 Etc/GMT`, `2014-09-01 20:29:06 America/Los_Angeles`
    func append(in zone: Zone, to bytes: inout [UInt8]) {
        Self.append(zone == .gmt ? seconds : seconds + Self.pacificOffset(at: seconds), to: &bytes)
        bytes.append(contentsOf: zone.rawValue.utf8)
    }

    /// `2014-09-02T03:29:06Z`, as receipts write a moment.
    var internetText: String {
        var bytes: [UInt8] = []
        Self.append(seconds, to: &bytes)
        bytes[10] = UInt8(ascii: "T")
        bytes.append(UInt8(ascii: "Z"))
        return String(decoding: bytes, as: UTF8.self)
    }

    /// `20140902032906Z`, as certificates write a moment.
    var digits: String {
        internetText.filter { $0.isNumber || $0 == "Z" }
    }

    /// The moment of a text such as `2014-09-02T03:29:06Z`.
    init?(internetText text: String) {
        let bytes = Array(text.utf8)
        guard bytes.count == 20, bytes[19] == UInt8(ascii: "Z") else { return nil }
        let numbers = bytes.split { !(UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
            .map { $0.reduce(0) { $0 * 10 + Int64($1 - UInt8(ascii: "0")) } }
        guard numbers.count == 6 else { return nil }
        let day = CivilDate(year: numbers[0], month: numbers[1], day: numbers[2]).dayNumber
        seconds = day * 86_400 + numbers[3] * 3_600 + numbers[4] * 60 + numbers[5]
    }

    var date: Date { Date(timeIntervalSince1970: Double(seconds)) }

    func text(in zone: Zone) -> String {
        var bytes: [UInt8] = []
        append(in: zone, to: &bytes)
        return String(decoding: bytes, as: UTF8.self)
    }

    /// Seconds to add to UTC, by the rule in force since 2007: daylight saving from the second Sunday of March to
    /// the first Sunday of November. Foundation's calendar takes fifty times as long.
    static func pacificOffset(at seconds: Int64) -> Int64 {
        let year = CivilDate(day: floorDivide(seconds, 86_400)).year
        let begins = sunday(2, of: 3, year) * 86_400 + 10 * 3_600
        let ends = sunday(1, of: 11, year) * 86_400 + 9 * 3_600
        return (begins..<ends).contains(seconds) ? -7 * 3_600 : -8 * 3_600
    }

    /// The day number of the n-th Sunday of a month.
    private static func sunday(_ number: Int64, of month: Int64, _ year: Int64) -> Int64 {
        let first = CivilDate(year: year, month: month, day: 1).dayNumber
        // Day 0, 1 January 1970, was a Thursday.
        let weekday = ((first % 7) + 11) % 7
        return first + (7 - weekday) % 7 + (number - 1) * 7
    }

    private static func append(_ seconds: Int64, to bytes: inout [UInt8]) {
        let day = floorDivide(seconds, 86_400)
        let date = CivilDate(day: day)
        let rest = seconds - day * 86_400
        append(date.year, digits: 4, to: &bytes)
        for (separator, value) in [
            ("-", date.month), ("-", date.day), (" ", rest / 3_600), (":", rest / 60 % 60), (":", rest % 60),
        ] {
            bytes.append(contentsOf: separator.utf8)
            append(value, digits: 2, to: &bytes)
        }
    }

    private static func append(_ value: Int64, digits: Int, to bytes: inout [UInt8]) {
        var power: Int64 = digits == 4 ? 1000 : 10
        while power > 0 {
            bytes.append(UInt8(ascii: "0") + UInt8(value / power % 10))
            power /= 10
        }
    }

    private static func floorDivide(_ a: Int64, _ b: Int64) -> Int64 {
        a >= 0 ? a / b : -((-a + b - 1) / b)
    }
}

/// A date of the Gregorian calendar and the day's number since 1 January 1970 (Howard Hinnant's algorithms).
private struct CivilDate {
    let year: Int64
    let month: Int64
    let day: Int64

    init(year: Int64, month: Int64, day: Int64) {
        self.year = year
        self.month = month
        self.day = day
    }

    init(day number: Int64) {
        let shifted = number + 719_468
        let era = (shifted >= 0 ? shifted : shifted - 146_096) / 146_097
        let dayOfEra = shifted - era * 146_097
        let yearOfEra = (dayOfEra - dayOfEra / 1_460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let marchMonth = (5 * dayOfYear + 2) / 153
        day = dayOfYear - (153 * marchMonth + 2) / 5 + 1
        month = marchMonth < 10 ? marchMonth + 3 : marchMonth - 9
        year = yearOfEra + era * 400 + (month <= 2 ? 1 : 0)
    }

    var dayNumber: Int64 {
        let shifted = month <= 2 ? year - 1 : year
        let era = (shifted >= 0 ? shifted : shifted - 399) / 400
        let yearOfEra = shifted - era * 400
        let dayOfYear = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1
        let dayOfEra = yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear
        return era * 146_097 + dayOfEra - 719_468
    }
}
