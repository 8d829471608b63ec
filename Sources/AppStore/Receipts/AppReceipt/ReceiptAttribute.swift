import Foundation

/// One attribute of a receipt's payload, or of an entry in it; both are sets of attributes.
struct ReceiptAttribute {
    let type: Int64
    /// The value's octets, not read yet.
    private(set) var value: BERReader

    var octets: [UInt8] { Array(value.rest) }

    /// More than any real set has: a receipt of the largest accepted size holds fewer purchases with content. It could
    /// hold a million empty ones, which would take hundreds of megabytes to remember.
    static let most = 100_000

    /// Reads a set of attributes that ends where the reader's bytes end.
    static func read(
        _ reader: BERReader, _ body: (ReceiptAttribute) throws(BERError) -> Void
    ) throws(BERError) {
        var reader = reader
        var set = reader.inside(try reader.next(BERTag.set))
        guard reader.isAtEnd else { throw reader.malformed(at: reader.position) }
        var count = 0
        while !set.isAtEnd {
            count += 1
            guard count <= most else { throw set.malformed(at: set.position) }
            var sequence = set.inside(try set.next(BERTag.sequence))
            let type = try sequence.integer()
            _ = try sequence.integer()
            let value = try sequence.octets(of: try sequence.next())
            guard sequence.isAtEnd else { throw sequence.malformed(at: sequence.position) }
            try body(ReceiptAttribute(type: type, value: value))
        }
    }

    /// The value as an integer; `nil` if it has no octets.
    mutating func integer() throws(BERError) -> Int64? {
        if value.isAtEnd { return nil }
        let integer = try value.integer()
        try endValue()
        return integer
    }

    /// The value as text; `nil` if it has no octets.
    mutating func text() throws(BERError) -> String? {
        if value.isAtEnd { return nil }
        let text = try value.text()
        try endValue()
        return text
    }

    /// The value as a date; `nil` if it has no octets or is an empty string.
    mutating func date() throws(BERError) -> Date? {
        if value.isAtEnd { return nil }
        let date = try value.date()
        try endValue()
        return date
    }

    private func endValue() throws(BERError) {
        guard value.isAtEnd else { throw value.malformed(at: value.position) }
    }
}
