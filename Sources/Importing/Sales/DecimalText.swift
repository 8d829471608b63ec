/// Decimal numbers as people and sales reports write them, read exactly.
package enum DecimalText {
    /// The number in thousandths; `nil` if it is not a decimal number, is finer than that, or is too great.
    package static func milliunits(_ text: some StringProtocol) -> Int64? {
        var digits = Array(text.utf8)
        let isNegative = digits.first == UInt8(ascii: "-")
        if isNegative { digits.removeFirst() }
        let parts = digits.split(separator: UInt8(ascii: "."), maxSplits: 1, omittingEmptySubsequences: false)
        guard let whole = parts.first, parts.joined().isEmpty == false,
            parts.joined().allSatisfy(\.isDigit)
        else { return nil }
        let fraction = parts.count > 1 ? Array(parts[1]) : []
        guard fraction.dropFirst(3).allSatisfy({ $0 == UInt8(ascii: "0") }) else { return nil }
        let padding = [UInt8](repeating: UInt8(ascii: "0"), count: max(0, 3 - fraction.count))
        let thousandths = Array(whole) + fraction.prefix(3) + padding
        return Int64((isNegative ? "-" : "") + String(decoding: thousandths, as: UTF8.self))
    }

    /// Reads a whole number, which may have decimals that are zero.
    static func whole(_ text: some StringProtocol) -> Int64? {
        guard let thousandths = milliunits(text), thousandths.isMultiple(of: 1000) else { return nil }
        return thousandths / 1000
    }
}
