import Foundation
import Reconciliation

/// A case as a row of the table in the page itself, which readers without JavaScript see, in the language in which the
/// page opens.
struct CaseRow {
    let reader: Reader
    let now: Date

    private var words: any Wording { reader.words }

    static let columns: [Phrase] = [.likelihood, .user, .transaction, .product, .price, .purchased, .whatToDo]

    /// The row above a customer's cases.
    func heading(of customer: CustomerCases) -> HTML {
        let unpriced: HTML =
            customer.unpriced > 0
            ? "<span class=\"soft\">\(words(.unpriced, ["n": reader.number(customer.unpriced)]))</span>" : ""
        let sums = customer.money.map { "<span class=\"sum\">\(reader.money($0))</span>" as HTML }
        let oldest = words(.oldestOf, ["age": reader.age(of: customer.oldestPurchase, at: now)])
        return """
            <tr class="customer"><td>\(badge(customer.likelihood))</td><td colspan="3">\(purchases(customer.count, of: customer))</td>\
            <td data-label="\(words(.price))" class="figure">\(sums)\(unpriced)</td>\
            <td data-label="\(words(.purchased))">\(reader.moment(customer.oldestPurchase))<span class="soft">\(oldest)</span></td>\
            <td></td></tr>

            """
    }

    /// The row below a customer's cases, for those that are not shown.
    func others(_ count: Int, of customer: CustomerCases) -> HTML {
        let values: [String: HTML] = ["n": "\(reader.number(count))", "user": HTML.foreign(customer.userID)]
        return "<tr class=\"member\"><td colspan=\"7\">\(words.html(.moreInFiles, values))</td></tr>\n"
    }

    private func purchases(_ count: Int, of customer: CustomerCases) -> HTML {
        words.html(.purchasesOf, ["n": "\(reader.number(count))", "user": HTML.foreign(customer.userID)])
    }

    private func badge(_ likelihood: Likelihood) -> HTML {
        "<span class=\"badge \(likelihood.rawValue)\">\(words.name(of: likelihood))</span>"
    }

    func html(_ found: ReportedCase, isMember: Bool = false) -> HTML {
        let new: HTML = found.isNew ? " <span class=\"badge new\">\(words(.isNew))</span>" : ""
        return """
            <tr\(isMember ? " class=\"member\"" as HTML : "")><td>\(badge(found.assessment.likelihood))\(new)</td>\
            <td data-label="\(words(.user))">\(users(found.assessment.owner))</td>\
            <td data-label="\(words(.transaction))"><code class="id">\(found.key.id.text)</code></td>\
            <td data-label="\(words(.product))">\(product(found))</td>\
            <td data-label="\(words(.price))" class="figure">\(price(found))</td>\
            <td data-label="\(words(.purchased))">\(reader.moment(found.purchasedAt))\
            <span class="soft">\(words(.ago, ["age": reader.age(of: found.purchasedAt, at: now)]))</span></td>\
            <td>\(action(found)) <span class="soft">\(reasons(found))</span></td></tr>

            """
    }

    private func users(_ owner: Owner) -> HTML {
        let users = owner.candidates
        if users.isEmpty { return "<span class=\"soft\">\(words(.unknownOwner))</span>" }
        let more: HTML = users.count > 3 ? " \(words(.andMore, ["n": String(users.count - 3)]))" : ""
        return HTML.joined(users.prefix(3).map(HTML.foreign)) + more
    }

    private func product(_ found: ReportedCase) -> HTML {
        let name: HTML = found.productName.map { "\(HTML.foreign($0))" } ?? ""
        let quantity: HTML = found.quantity == 1 ? "" : " × \(found.quantity)"
        return "\(name)\(quantity)<code class=\"soft\">\(HTML.wrapping(found.productID.text))</code>"
    }

    private func price(_ found: ReportedCase) -> HTML {
        guard let price = found.price else { return "<span class=\"soft\">\(words(.priceUnknown))</span>" }
        let note: HTML = found.isListPrice ? "<span class=\"soft\">\(words(.listPrice))</span>" : ""
        return "\(reader.money(price))\(note)"
    }

    private func action(_ found: ReportedCase) -> HTML {
        words.html(Advice(found.assessment, redelivery: found.redelivery))
    }

    private func reasons(_ found: ReportedCase) -> String {
        found.assessment.reasons.map(words.sentence).joined(separator: " ")
    }
}
