import CivilTime
import Foundation
import HTTP

/// Reads `Retry-After`: seconds or an HTTP date (RFC 9110), or the UNIX time in milliseconds at which to come back,
/// which Apple's servers send.
enum RetryAfter {
    /// From this number on, which would be three thousand years in seconds, it is Apple's UNIX time in milliseconds.
    private static let firstUNIXTime: Int64 = 100_000_000_000

    /// The number of seconds from now that a response asks to wait. The moments in it are by the server's clock, and so is
    /// its date: this host's may be minutes off, by which a wait of a second would be longer than a run waits.
    ///
    /// - Parameter now: this host's present, for a response without a date.
    static func seconds(in headers: HTTPHeaders, now: Date) -> TimeInterval? {
        headers["retry-after"].flatMap { seconds($0, now: headers["date"].flatMap(httpDate) ?? now) }
    }

    /// The number of seconds from now that the value asks to wait; 0 for a past time, `nil` if it can't be read.
    static func seconds(_ value: String, now: Date) -> TimeInterval? {
        let value = value.trimmingCharacters(in: .whitespaces)
        guard let number = Int64(value) else { return httpDate(value).map { max(0, $0.timeIntervalSince(now)) } }
        guard number >= 0 else { return nil }
        guard number >= firstUNIXTime else { return TimeInterval(number) }
        return max(0, TimeInterval(number) / 1000 - now.timeIntervalSince1970)
    }

    /// A date such as `Sun, 06 Nov 1994 08:49:37 GMT`.
    private static func httpDate(_ text: String) -> Date? {
        let parts = text.split(whereSeparator: { $0 == " " || $0 == ":" })
        guard parts.count == 8, parts[7] == "GMT", let month = months.firstIndex(of: String(parts[2])),
            let day = Int(digits: parts[1].utf8), let year = Int(digits: parts[3].utf8),
            let hour = Int(digits: parts[4].utf8), let minute = Int(digits: parts[5].utf8),
            let second = Int(digits: parts[6].utf8)
        else { return nil }
        return Date(utcYear: year, month: month + 1, day: day, hour: hour, minute: minute, second: second)
    }

    private static let months = [
        "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
    ]
}
