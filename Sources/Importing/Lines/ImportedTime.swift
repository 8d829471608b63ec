import CivilTime
import Foundation

/// Moments as a company's tables write them: ISO 8601 or what PostgreSQL prints, with their zone
/// (`2026-11-21T03:00:00Z`, `2026-11-21 11:00:00.123+08`), or seconds or milliseconds since 1970.
enum ImportedTime {
    /// What is wrong with a moment, a phrase to follow the field's name.
    enum Problem: String, Error {
        case unreadable = "is no time such as 2026-11-21T03:00:00Z, and no seconds or milliseconds since 1970"
        case withoutZone = "has no time zone; write one, such as Z or +08:00"
        case outOfRange = "lies before the year 2000 or after 2099"
    }

    /// The years 2000 to 2099, in which no number of seconds could be one of milliseconds.
    private static let range: Range<TimeInterval> = 946_684_800..<4_102_444_800

    static func parse(_ text: String) throws(Problem) -> Date {
        var date = since1970(text)
        if date == nil { date = try written(text) }
        guard let date else { throw .unreadable }
        guard range.contains(date.timeIntervalSince1970) else { throw .outOfRange }
        return date
    }

    private static func since1970(_ text: String) -> Date? {
        guard text.utf8.allSatisfy({ $0.isDigit || $0 == UInt8(ascii: ".") }),
            let number = Double(text)
        else { return nil }
        return Date(timeIntervalSince1970: range.contains(number) ? number : number / 1000)
    }

    private static func written(_ text: String) throws(Problem) -> Date? {
        guard let date = Date(utc: text.utf8), let (fraction, zone) = fraction(Array(text.utf8)[19...]) else {
            return nil
        }
        guard !zone.isEmpty else { throw .withoutZone }
        return offset(zone).map { date.addingTimeInterval(fraction - $0) }
    }

    /// The fraction of a second at the start of the bytes, to the microsecond, and what follows it.
    private static func fraction(_ bytes: ArraySlice<UInt8>) -> (TimeInterval, ArraySlice<UInt8>)? {
        guard bytes.first == UInt8(ascii: ".") else { return (0, bytes) }
        let digits = bytes.dropFirst().prefix(while: \.isDigit)
        guard !digits.isEmpty else { return nil }
        let micros = (Array(digits.prefix(6)) + Array(repeating: 0x30, count: 6)).prefix(6)
        return Int(digits: micros).map { (TimeInterval($0) / 1_000_000, bytes.dropFirst(1 + digits.count)) }
    }

    /// The seconds by which a zone is ahead of UTC: `Z`, `+08`, `+0800`, `+08:00`, with or without a space before it.
    private static func offset(_ zone: ArraySlice<UInt8>) -> TimeInterval? {
        let zone = zone.drop { $0 == UInt8(ascii: " ") }
        if zone.elementsEqual("Z".utf8) || zone.elementsEqual("UTC".utf8) { return 0 }
        guard let sign = zone.first, sign == UInt8(ascii: "+") || sign == UInt8(ascii: "-") else { return nil }
        var digits = zone.dropFirst()
        if digits.count == 5, digits[digits.startIndex + 2] == UInt8(ascii: ":") {
            digits.remove(at: digits.startIndex + 2)
        }
        guard digits.count == 2 || digits.count == 4, let hours = Int(digits: digits.prefix(2)), hours <= 18,
            let minutes = Int(digits: digits.dropFirst(2)), minutes < 60
        else { return nil }
        return TimeInterval(hours * 3600 + minutes * 60) * (sign == UInt8(ascii: "-") ? -1 : 1)
    }
}
