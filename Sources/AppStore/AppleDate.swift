package import Foundation

/// Dates as Apple writes them. Only years 1970 to 9999 are dates here: what lies outside is a mistake, and a database
/// would refuse it.
package enum AppleDate {
    /// The last millisecond of the year 9999.
    private static let latest: Int64 = 253_402_300_799_999

    /// A date from milliseconds since 1970.
    static func milliseconds(_ milliseconds: Int64) -> Date? {
        guard (0...latest).contains(milliseconds) else { return nil }
        return Date(timeIntervalSince1970: Double(milliseconds) / 1000)
    }

    /// A date from text: milliseconds since 1970 (`1550386188000`, which iOS 6 answers hold in `expires_date` too),
    /// `2012-04-30 15:05:55 Etc/GMT`, or RFC 3339 in UTC.
    static func text(_ text: String) -> Date? {
        if let number = Int64(text) { return milliseconds(number) }
        let bytes = Array(text.utf8)
        guard bytes.count >= 19, bytes[10] == UInt8(ascii: " ") || bytes[10] == UInt8(ascii: "T"),
            bytes[4] == UInt8(ascii: "-"), bytes[7] == UInt8(ascii: "-"), bytes[13] == UInt8(ascii: ":"),
            bytes[16] == UInt8(ascii: ":"), isUTC(String(decoding: bytes[19...], as: UTF8.self)),
            let year = digits(bytes[0..<4]), let month = digits(bytes[5..<7]), let day = digits(bytes[8..<10]),
            let hour = digits(bytes[11..<13]), let minute = digits(bytes[14..<16]), let second = digits(bytes[17..<19])
        else { return nil }
        return civil(year: year, month: month, day: day, hour: hour, minute: minute, second: second)
    }

    /// The moment in UTC with these numbers; nothing for a day that no calendar has.
    package static func civil(
        year: Int, month: Int, day: Int, hour: Int, minute: Int, second: Int
    ) -> Date? {
        guard (1970...9999).contains(year), (1...12).contains(month), (0...23).contains(hour),
            (0...59).contains(minute), (0...60).contains(second),
            (1...daysInMonth(month, year: year)).contains(day)
        else { return nil }
        let seconds = ((daysSince1970(year: year, month: month, day: day) * 24 + hour) * 60 + minute) * 60 + second
        return Date(timeIntervalSince1970: Double(seconds))
    }

    /// The number that the digits spell; nothing if there is another character among them.
    package static func digits(_ bytes: some Sequence<UInt8>) -> Int? {
        var number = 0
        for byte in bytes {
            guard byte >= 0x30, byte <= 0x39, number < 1_000_000 else { return nil }
            number = number * 10 + Int(byte - 0x30)
        }
        return number
    }

    private static func isUTC(_ zone: String) -> Bool {
        let name = zone.trimmingCharacters(in: .whitespaces)
        if ["Etc/GMT", "Z", "GMT", "UTC", "+00:00", "+0000"].contains(name) { return true }
        // A fraction of a second, which is dropped.
        guard name.first == ".", name.last == "Z" else { return false }
        return digits(name.utf8.dropFirst().dropLast().prefix(6)) != nil
    }

    private static func daysInMonth(_ month: Int, year: Int) -> Int {
        switch month {
        case 2: (year % 4 == 0 && year % 100 != 0) || year % 400 == 0 ? 29 : 28
        case 4, 6, 9, 11: 30
        default: 31
        }
    }

    /// Days since 1970-01-01 in the Gregorian calendar, counted in years that begin in March so that the leap day
    /// comes last.
    private static func daysSince1970(year: Int, month: Int, day: Int) -> Int {
        let shifted = month > 2 ? year : year - 1
        let dayOfYear = (153 * ((month + 9) % 12) + 2) / 5 + day - 1
        return shifted * 365 + shifted / 4 - shifted / 100 + shifted / 400 + dayOfYear - 719_468
    }
}
