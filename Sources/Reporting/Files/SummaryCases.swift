import Foundation
import Reconciliation

/// The first cases of a summary: a line for each customer, however many purchases they made.
struct SummaryCases {
    private enum Heading {
        case customer(CustomerCases)
        case single(ReportedCase)
    }

    private static let shownHeadings = 10
    private var headings: [Heading] = []

    /// How many cases the lines cover.
    var shown: Int {
        headings.reduce(0) { sum, heading in
            if case .customer(let customer) = heading { sum + customer.count } else { sum + 1 }
        }
    }

    mutating func add(_ found: ReportedCase) {
        guard let customer = found.customer else { return append(.single(found)) }
        // A customer's cases come one after another.
        if case .customer(customer) = headings.last { return }
        append(.customer(customer))
    }

    private mutating func append(_ heading: Heading) {
        if headings.count < Self.shownHeadings { headings.append(heading) }
    }

    func lines(_ formats: Formats) -> [String] {
        headings.map { heading in
            switch heading {
            case .customer(let customer): Self.start(customer.likelihood) + Self.line(customer, formats)
            case .single(let found): Self.start(found.assessment.likelihood) + Self.line(found, formats)
            }
        }
    }

    private static func start(_ likelihood: Likelihood) -> String {
        "  " + likelihood.rawValue + String(repeating: " ", count: 6 - likelihood.rawValue.count) + "  "
    }

    private static func line(_ found: ReportedCase, _ formats: Formats) -> String {
        "\(found.key.id)  \(found.productID)  \(found.price.map(Formats.text) ?? "price unknown")  "
            + "\(formats.local(found.purchasedAt))  \(users(found.assessment.owner))"
    }

    private static func users(_ owner: Owner) -> String {
        let users = owner.candidates
        guard !users.isEmpty else { return "unknown owner" }
        let named = users.prefix(3).map { Printable.text($0) }.joined(separator: ", ")
        return users.count > 3 ? "\(named) and \(users.count - 3) more" : named
    }

    private static func line(_ customer: CustomerCases, _ formats: Formats) -> String {
        let sums = MoneyText.list(customer.money, unpriced: customer.unpriced)
        return "\(customer.count) purchases of \(Printable.text(customer.userID))  \(sums)  "
            + "the oldest \(formats.local(customer.oldestPurchase))  \(customer.bundleID)"
    }
}
