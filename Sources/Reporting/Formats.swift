import Foundation
import Reconciliation

/// How times and money are written.
struct Formats {
    private let local: Date.ISO8601FormatStyle
    let zoneName: String

    init(timeZone: TimeZone) {
        local = Date.ISO8601FormatStyle(
            dateSeparator: .dash, dateTimeSeparator: .space, timeZone: timeZone
        ).year().month().day().time(includingFractionalSeconds: false)
        zoneName = timeZone.identifier
    }

    /// In the zone that support staff read, to the second.
    func local(_ date: Date) -> String { date.formatted(local) }

    /// The day in that zone, as a report's folder is named by it.
    func day(_ date: Date) -> String { String(local(date).prefix(10)) }

    /// ISO 8601 in UTC, to the second.
    static func utc(_ date: Date) -> String { date.formatted(.iso8601) }

    /// An amount with the decimals that its currency has (ISO 4217), exactly.
    static func amount(_ money: Money) -> String {
        let decimals = decimals(of: money.currency)
        let sign = money.milliunits < 0 ? "-" : ""
        let milliunits = money.milliunits.magnitude
        let fraction = String(milliunits % 1000 + 1000).dropFirst()
        let kept = fraction.dropLast(3 - decimals)
        // Never round money away: where the amount is finer than the currency's unit, all of it is shown.
        let rest = fraction.suffix(3 - decimals)
        let shown = rest.allSatisfy { $0 == "0" } ? String(kept) : String(fraction)
        return sign + String(milliunits / 1000) + (shown.isEmpty ? "" : ".\(shown)")
    }

    static func text(_ money: Money) -> String { "\(amount(money)) \(money.currency)" }

    /// How many decimals an amount is written with: its currency's, or all where it is finer than that.
    static func shownDecimals(of money: Money) -> Int {
        amount(money).split(separator: ".", omittingEmptySubsequences: false).dropFirst().first?.count ?? 0
    }

    /// A hash total as sixteen hexadecimal digits.
    static func hash(_ hash: Int64) -> String {
        let digits = String(UInt64(bitPattern: hash), radix: 16)
        return String(repeating: "0", count: 16 - digits.count) + digits
    }

    private static func decimals(of currency: CurrencyCode) -> Int {
        switch currency.text {
        case "BIF", "CLP", "DJF", "GNF", "ISK", "JPY", "KMF", "KRW", "PYG", "RWF", "UGX", "UYI", "VND", "VUV",
            "XAF", "XOF", "XPF":
            0
        case "BHD", "IQD", "JOD", "KWD", "LYD", "OMR", "TND": 3
        default: 2
        }
    }
}
