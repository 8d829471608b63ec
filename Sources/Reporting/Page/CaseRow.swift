import Foundation
import Reconciliation

/// A case as a row of the table that stands in the page itself: what a reader without JavaScript sees, in the language
/// that the page opens in.
struct CaseRow {
    let reader: Reader
    let now: Date

    private var words: any Wording { reader.words }

    static let columns: [Phrase] = [.likelihood, .user, .transaction, .product, .price, .purchased, .whatToDo]

    func html(_ found: ReportedCase) -> HTML {
        let likelihood = found.assessment.likelihood
        let new: HTML = found.isNew ? " <span class=\"badge new\">\(words(.isNew))</span>" : ""
        return """
            <tr><td><span class="badge \(likelihood.rawValue)">\(words.name(of: likelihood))</span>\(new)</td>\
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
        return "\(name)\(quantity)<code class=\"soft\">\(found.productID.text)</code>"
    }

    private func price(_ found: ReportedCase) -> HTML {
        guard let price = found.price else { return "<span class=\"soft\">\(words(.priceUnknown))</span>" }
        let note: HTML = found.isListPrice ? "<span class=\"soft\">\(words(.listPrice))</span>" : ""
        return "\(reader.money(price))\(note)"
    }

    private func action(_ found: ReportedCase) -> HTML {
        let advice = Advice(found.assessment, orderIDs: found.orderIDs)
        return words.html(advice.phrase, advice.values.mapValues(HTML.foreign))
    }

    private func reasons(_ found: ReportedCase) -> String {
        found.assessment.reasons.map(words.sentence).joined(separator: " ")
    }
}
