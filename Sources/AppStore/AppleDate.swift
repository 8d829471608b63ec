import CivilTime
import Foundation

/// Dates as Apple writes them. Only the years 1970 to 9999 are accepted: any other is a mistake, and a database would
/// refuse it. Their first moment is a zero where a date is missing, and nothing of Apple's: as the date of a refund it
/// would take a purchase away from who paid for it.
enum AppleDate {
    /// The last millisecond of the year 9999.
    private static let latest: Int64 = 253_402_300_799_999

    /// A date from milliseconds since 1970.
    static func milliseconds(_ milliseconds: Int64) -> Date? {
        guard (1...latest).contains(milliseconds) else { return nil }
        return Date(timeIntervalSince1970: Double(milliseconds) / 1000)
    }

    /// A date from text: milliseconds since 1970 (`1550386188000`, which iOS 6 answers hold in `expires_date` too, or
    /// `1697679936049.7297`, as Xcode writes it), `2012-04-30 15:05:55 Etc/GMT`, or RFC 3339 in UTC.
    static func text(_ text: String) -> Date? {
        if let number = Int64(text) ?? wholeOfDecimal(text) { return milliseconds(number) }
        let bytes = text.utf8
        guard isUTC(String(decoding: bytes.dropFirst(19), as: UTF8.self)) else { return nil }
        return Date(utc: bytes).flatMap { $0.timeIntervalSince1970 > 0 ? $0 : nil }
    }

    /// The digits before the decimal point; a fraction of a millisecond is dropped.
    private static func wholeOfDecimal(_ text: String) -> Int64? {
        let parts = text.utf8.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
        guard parts.count == 2, parts.allSatisfy({ !$0.isEmpty && $0.allSatisfy(isDigit) }) else { return nil }
        return Int64(String(decoding: parts[0], as: UTF8.self))
    }

    private static func isDigit(_ byte: UInt8) -> Bool { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) }

    private static func isUTC(_ zone: String) -> Bool {
        let name = zone.trimmingCharacters(in: .whitespaces)
        if ["Etc/GMT", "Z", "GMT", "UTC", "+00:00", "+0000"].contains(name) { return true }
        // A fraction of a second, which is dropped.
        guard name.first == ".", name.last == "Z" else { return false }
        return Int(digits: name.utf8.dropFirst().dropLast().prefix(6)) != nil
    }
}
