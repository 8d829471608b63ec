import CivilTime
import Foundation

/// A moment in the form of `verifyReceipt` for people.
struct StoreDate {
    enum Zone: String {
        case gmt = " Etc/GMT"
        case pacific = " America/Los_Angeles"
    }

    private let seconds: Int

    init(_ date: Date) {
        seconds = Int(date.timeIntervalSince1970.rounded(.down))
    }

    /// `2014-09-02 03:29:06 Etc/GMT`, `2014-09-01 20:29:06 America/Los_Angeles`
    func append(in zone: Zone, to bytes: inout [UInt8]) {
        Self.append(zone == .gmt ? seconds : seconds + Self.pacificOffset(at: seconds), to: &bytes)
        bytes.append(contentsOf: zone.rawValue.utf8)
    }

    /// `2014-09-02T03:29:06Z`, the form in receipts.
    var internetText: String {
        var bytes: [UInt8] = []
        Self.append(seconds, to: &bytes)
        bytes[10] = UInt8(ascii: "T")
        bytes.append(UInt8(ascii: "Z"))
        return String(decoding: bytes, as: UTF8.self)
    }

    /// Reads the moment from a text such as `2014-09-02T03:29:06Z`.
    init?(internetText text: String) {
        guard text.utf8.count == 20, text.hasSuffix("Z"), let date = Date(utc: text.utf8) else { return nil }
        self.init(date)
    }

    var date: Date { Date(timeIntervalSince1970: Double(seconds)) }

    func text(in zone: Zone) -> String {
        var bytes: [UInt8] = []
        append(in: zone, to: &bytes)
        return String(decoding: bytes, as: UTF8.self)
    }

    /// Seconds to add to UTC, by the rule in force since 2007: daylight saving from the second Sunday of March to
    /// the first Sunday of November. Foundation's calendar takes fifty times as long.
    static func pacificOffset(at seconds: Int) -> Int {
        let year = CivilDate(daysSince1970: floorDivide(seconds, 86_400)).year
        let begins = sunday(2, of: 3, year) * 86_400 + 10 * 3_600
        let ends = sunday(1, of: 11, year) * 86_400 + 9 * 3_600
        return (begins..<ends).contains(seconds) ? -7 * 3_600 : -8 * 3_600
    }

    /// The day number of the n-th Sunday of a month.
    private static func sunday(_ number: Int, of month: Int, _ year: Int) -> Int {
        let first = CivilDate(year: year, month: month, day: 1)?.daysSince1970 ?? 0
        // Day 0, 1 January 1970, was a Thursday.
        let weekday = ((first % 7) + 11) % 7
        return first + (7 - weekday) % 7 + (number - 1) * 7
    }

    private static func append(_ seconds: Int, to bytes: inout [UInt8]) {
        let day = floorDivide(seconds, 86_400)
        let date = CivilDate(daysSince1970: day)
        let rest = seconds - day * 86_400
        append(date.year, digits: 4, to: &bytes)
        for (separator, value) in [
            ("-", date.month), ("-", date.day), (" ", rest / 3_600), (":", rest / 60 % 60), (":", rest % 60),
        ] {
            bytes.append(contentsOf: separator.utf8)
            append(value, digits: 2, to: &bytes)
        }
    }

    private static func append(_ value: Int, digits: Int, to bytes: inout [UInt8]) {
        var power: Int = digits == 4 ? 1000 : 10
        while power > 0 {
            bytes.append(UInt8(ascii: "0") + UInt8(value / power % 10))
            power /= 10
        }
    }

    private static func floorDivide(_ a: Int, _ b: Int) -> Int {
        a >= 0 ? a / b : -((-a + b - 1) / b)
    }
}
