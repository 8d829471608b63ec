import Foundation

extension BERReader {
    /// Reads an INTEGER of up to 64 bits.
    mutating func integer() throws(BERError) -> Int64 {
        let element = try next(BERTag.integer)
        guard (1...8).contains(element.content.count) else { throw malformed(at: element.start) }
        let octets = inside(element).rest
        let sign: Int64 = octets.first.map { $0 >= 0x80 ? -1 : 0 } ?? 0
        return octets.reduce(sign) { $0 << 8 | Int64($1) }
    }

    /// Reads a string in UTF-8 or a part of it.
    mutating func text() throws(BERError) -> String {
        let element = try next()
        switch element.tag {
        case BERTag.utf8String, BERTag.ia5String, BERTag.printableString:
            guard let text = String(validating: inside(element).rest, as: UTF8.self) else {
                throw malformed(at: element.start)
            }
            return text
        default: throw malformed(at: element.start)
        }
    }

    /// Reads a date; an empty string is none.
    mutating func date() throws(BERError) -> Date? {
        let start = position
        let text = try text()
        if text.isEmpty { return nil }
        guard let date = AppleDate.withOffset(text) else { throw malformed(at: start) }
        return date
    }
}
