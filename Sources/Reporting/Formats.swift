package import Foundation
import Reconciliation

/// The formats of times and money.
package struct Formats {
    private let local: Date.ISO8601FormatStyle
    let zoneName: String

    package init(timeZone: TimeZone) {
        local = Date.ISO8601FormatStyle(
            dateSeparator: .dash, dateTimeSeparator: .space, timeZone: timeZone
        ).year().month().day().time(includingFractionalSeconds: false)
        zoneName = timeZone.identifier
    }

    /// The time in the time zone of the support staff, to the second.
    package func local(_ date: Date) -> String { date.formatted(local) }

    /// The day in that zone, as in the name of a report's folder.
    func day(_ date: Date) -> String { String(local(date).prefix(10)) }

    /// ISO 8601 in UTC, to the second.
    static func utc(_ date: Date) -> String { date.formatted(.iso8601) }

    /// An amount with the decimals of its currency, exactly.
    static func amount(_ money: Money) -> String { money.amount }

    static func text(_ money: Money) -> String { "\(money)" }

    /// How many decimals an amount is written with: its currency's, or all if it is finer than that.
    static func shownDecimals(of money: Money) -> Int {
        amount(money).split(separator: ".", omittingEmptySubsequences: false).dropFirst().first?.count ?? 0
    }

    /// A hash total as sixteen hexadecimal digits.
    static func hash(_ hash: Int64) -> String {
        let digits = String(UInt64(bitPattern: hash), radix: 16)
        return String(repeating: "0", count: 16 - digits.count) + digits
    }
}
