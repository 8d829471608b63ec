import Foundation
import Reconciliation

/// The rows of the page's lists beside the cases, in every language.
struct ListRows {
    let readers: Readers

    static let receiptColumns: [Phrase] = [
        .receipt, .user, .app, .uploaded, .reason, .nights, .device, .whatToDo,
    ]
    static let suspicionColumns: [Phrase] = [.what, .transaction, .app, .product, .users, .found]

    func html(_ receipt: TroubledReceipt) -> HTML {
        let user: HTML = receipt.userID.map(HTML.foreign) ?? "<span class=\"soft\">\(readers.text(.nobody))</span>"
        return """
            <tr><td><code class="id">\(receipt.receiptID.description)</code></td><td>\(user)</td>\
            <td>\(HTML.foreign(receipt.bundleID))</td>\
            <td>\(readers.each { $0.moment(receipt.submittedAt) })</td>\
            <td>\(readers.each { "\($0.words.sentence(receipt.problem))" })\
            <span class="soft">\(receipt.detail)</span></td>\
            <td class="figure">\(receipt.attempts)</td><td>\(HTML.foreign(Device.text(receipt.device)))</td>\
            <td>\(readers.each { "\($0.words.action(receipt.problem))" })</td></tr>

            """
    }

    func html(_ found: Suspicion) -> HTML {
        """
        <tr><td>\(readers.each { "\($0.words.title(found.kind))" })</td>\
        <td>\(id(of: found.subject))</td><td>\(HTML.foreign(found.subject.bundleID))</td>\
        <td><code>\(found.subject.productID?.text ?? "")</code></td>\
        <td>\(HTML.joined(found.userIDs.prefix(10).map(HTML.foreign)))</td><td>\(found.detail)</td></tr>

        """
    }

    private func id(of subject: Suspicion.Subject) -> HTML {
        let receipt: HTML? = subject.receiptID.map {
            "\(readers.text(.receipt)) <code class=\"id\">\($0.description)</code>"
        }
        let transaction: HTML? = subject.transactionID.map { "<code class=\"id\">\($0)</code>" }
        return HTML.joined([receipt, transaction].compactMap(\.self))
    }

    func section(_ title: Phrase, shown: Int, of total: Int, columns: [Phrase]) -> (head: HTML, end: HTML) {
        let count: HTML = "<span class=\"count\">\(readers.first.number(total))</span>"
        let heading: HTML = """
            <section class="list"><h2 id="\(PageSections.id(of: title))" tabindex="-1">\(readers.text(title)) \(count)</h2>

            """
        guard total > 0 else { return (heading + "<p class=\"soft\">\(readers.text(.none))</p>", "</section>\n") }
        let caption = readers.caption(shown: shown, of: total)
        return (heading + Self.tableHead(caption, columns.map(readers.text)), "</tbody></table></div></section>\n")
    }

    /// The head of a table that scrolls on its own if it is wider than the page, and is reachable by keyboard for that.
    ///
    /// - Parameter figures: the columns with figures.
    static func tableHead(_ caption: HTML?, _ columns: [HTML], figures: Range<Int> = 0..<0) -> HTML {
        let caption: HTML = caption.map { "<caption>\($0)</caption>" } ?? ""
        let cells = columns.enumerated().map { column, name -> HTML in
            "<th scope=\"col\"\(figures.contains(column) ? " class=\"figure\"" as HTML : "")>\(name)</th>"
        }
        return """
            <div class="scroll" tabindex="0"><table>\(caption)<thead><tr>\(cells)</tr></thead><tbody>

            """
    }
}
