import CivilTime
import Foundation

extension AppleDate {
    /// A date from RFC 3339 text with any offset from UTC: `2017-10-13T07:41:28Z`, or with the `+0100` of Xcode.
    static func withOffset(_ text: String) -> Date? {
        let bytes = Array(text.utf8)
        guard bytes.count > 19, let civil = Date(utc: bytes), let offset = offset(bytes[19...])
        else { return nil }
        return milliseconds((Int64(civil.timeIntervalSince1970) - offset) * 1000)
    }

    /// Seconds east of UTC, from the text after the seconds. A fraction of a second is dropped.
    private static func offset(_ bytes: ArraySlice<UInt8>) -> Int64? {
        var zone = bytes
        if zone.first == UInt8(ascii: ".") {
            zone = zone.dropFirst().drop { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
        }
        if zone.elementsEqual("Z".utf8) { return 0 }
        let numbers = zone.dropFirst().filter { $0 != UInt8(ascii: ":") }
        guard let sign = zone.first, sign == UInt8(ascii: "+") || sign == UInt8(ascii: "-"), numbers.count == 4,
            zone.count == 5 || (zone.count == 6 && zone.dropFirst(3).first == UInt8(ascii: ":")),
            let hours = Int(digits: numbers.prefix(2)), let minutes = Int(digits: numbers.suffix(2)), hours < 24,
            minutes < 60
        else { return nil }
        let seconds = Int64(hours * 60 + minutes) * 60
        return sign == UInt8(ascii: "-") ? -seconds : seconds
    }
}
