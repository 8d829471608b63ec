package import Foundation

extension Date {
    /// Makes the moment of UTC with these numbers, from 1970 to 9999; `nil` if they are not a valid date and time. A
    /// leap second counts as the first of the next minute.
    package init?(utcYear year: Int, month: Int, day: Int, hour: Int, minute: Int, second: Int) {
        guard year >= 1970, (0...23).contains(hour), (0...59).contains(minute), (0...60).contains(second),
            let date = CivilDate(year: year, month: month, day: day)
        else { return nil }
        self.init(timeIntervalSince1970: Double(((date.daysSince1970 * 24 + hour) * 60 + minute) * 60 + second))
    }

    /// Reads the moment of UTC at the beginning of a text such as `2012-04-30 15:05:55`, with a space or a `T`; what
    /// follows is left to the caller.
    package init?(utc text: some Collection<UInt8>) {
        let bytes = Array(text.prefix(19))
        guard bytes.count == 19, bytes[10] == UInt8(ascii: " ") || bytes[10] == UInt8(ascii: "T"),
            bytes[4] == UInt8(ascii: "-"), bytes[7] == UInt8(ascii: "-"), bytes[13] == UInt8(ascii: ":"),
            bytes[16] == UInt8(ascii: ":"), let year = Int(digits: bytes[0..<4]), let month = Int(digits: bytes[5..<7]),
            let day = Int(digits: bytes[8..<10]), let hour = Int(digits: bytes[11..<13]),
            let minute = Int(digits: bytes[14..<16]), let second = Int(digits: bytes[17..<19])
        else { return nil }
        self.init(utcYear: year, month: month, day: day, hour: hour, minute: minute, second: second)
    }
}

extension Int {
    /// Reads the number that decimal digits spell; `nil` if there is another character among them, or too many.
    package init?(digits bytes: some Sequence<UInt8>) {
        var number = 0
        for byte in bytes {
            guard byte >= 0x30, byte <= 0x39, number < 1_000_000 else { return nil }
            number = number * 10 + Int(byte - 0x30)
        }
        self = number
    }
}
