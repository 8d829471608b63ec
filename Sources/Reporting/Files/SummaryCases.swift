import Foundation
import Reconciliation

/// The first cases of a summary: a line for each customer, however many purchases are that customer's.
struct SummaryCases {
    /// Cases of one likelihood that are one user's.
    fileprivate struct Group {
        let likelihood: Likelihood
        let user: String?
        let first: ReportedCase
        var count = 1
        var money: [Money] = []
        var unpriced = 0
    }

    private static let shownGroups = 10
    private var groups: [Group] = []

    /// How many cases the lines tell of.
    var shown: Int { groups.map(\.count).reduce(0, +) }

    mutating func add(_ found: ReportedCase) {
        let (likelihood, user) = (found.assessment.likelihood, found.assessment.owner.user)
        if let user, let known = groups.firstIndex(where: { $0.user == user && $0.likelihood == likelihood }) {
            groups[known].count += 1
            groups[known].add(found.price)
        } else if groups.count < Self.shownGroups {
            var group = Group(likelihood: likelihood, user: user, first: found)
            group.add(found.price)
            groups.append(group)
        }
    }

    func lines(_ formats: Formats) -> [String] {
        groups.map { group in
            let likelihood = group.likelihood.rawValue
            let start = "  " + likelihood + String(repeating: " ", count: 6 - likelihood.count) + "  "
            return start + (group.count == 1 ? Self.line(group.first, formats) : Self.line(group, formats))
        }
    }

    private static func line(_ found: ReportedCase, _ formats: Formats) -> String {
        let users = found.assessment.owner.candidates.prefix(3).map { Printable.text($0) }.joined(separator: ", ")
        return "\(found.key.id)  \(found.productID)  \(found.price.map(Formats.text) ?? "price unknown")  "
            + "\(formats.local(found.purchasedAt))  " + (users.isEmpty ? "unknown owner" : users)
    }

    private static func line(_ group: Group, _ formats: Formats) -> String {
        let sums = group.money.map(Formats.text) + (group.unpriced > 0 ? ["\(group.unpriced) without a price"] : [])
        return "\(group.count) purchases of \(Printable.text(group.user ?? ""))  \(sums.joined(separator: ", "))  "
            + "the oldest \(formats.local(group.first.purchasedAt))"
    }
}

extension SummaryCases.Group {
    fileprivate mutating func add(_ price: Money?) {
        guard let price else {
            unpriced += 1
            return
        }
        if let same = money.firstIndex(where: { $0.currency == price.currency }) {
            money[same] = Money(milliunits: money[same].milliunits + price.milliunits, currency: price.currency)
        } else {
            money.append(price)
        }
    }
}
