import Foundation
import Reconciliation

/// The control totals and the time that each stage took.
struct TotalsSection {
    let run: RunReport
    let readers: Readers

    var html: HTML {
        let isBalanced = run.totals.imbalances.isEmpty
        let verdict: HTML = """
            <p class="\(isBalanced ? "good" : "early")">\(readers.text(isBalanced ? .balance : .doNotBalance))</p>
            """
        return """
            <section class="totals"><h2 id="\(PageSections.id(of: .totals))" tabindex="-1">\(readers.text(.totals))</h2>\(verdict)
            <div class="equations">
            \(equation(.received, Term.received(run.totals)))
            \(equation(.whiteTable, Term.white(run.totals)))
            </div>\(stages)</section>

            """
    }

    /// One term of an equation of the control totals.
    struct Term {
        let sign: String
        let name: Phrase
        let tally: Tally

        init(_ sign: String, _ name: Phrase, _ tally: Tally) {
            self.sign = sign
            self.name = name
            self.tally = tally
        }

        static func received(_ totals: ControlTotals) -> [Term] {
            [
                Term("", .verified, totals.verified), Term("=", .newlyWhite, totals.newlyWhite),
                Term("+", .alreadyWhite, totals.alreadyWhite), Term("+", .alreadyBlack, totals.alreadyBlack),
                Term("+", .excluded, totals.excluded),
            ]
        }

        static func white(_ totals: ControlTotals) -> [Term] {
            [
                Term("", .openingWhite, totals.openingWhite), Term("+", .new, totals.new),
                Term("−", .claimed, totals.claimed), Term("−", .resolved, totals.resolved),
                Term("−", .refunded, totals.refunded), Term("=", .closingWhite, totals.closingWhite),
            ]
        }
    }

    private func equation(_ title: Phrase, _ terms: [Term]) -> HTML {
        let rows = terms.map { term -> HTML in
            """
            <tr><th scope="row"><span class="sign">\(term.sign)</span>\(readers.text(term.name))</th>\
            <td class="figure">\(readers.first.number(term.tally.transactions))</td>\
            <td class="figure">\(readers.first.number(term.tally.units))</td>\
            <td class="figure"><code>\(Formats.hash(term.tally.hash))</code></td></tr>

            """
        }
        let columns = [Phrase.figure, .transactions, .units, .hash].map(readers.text)
        let head = ListRows.tableHead(readers.text(title), columns, figures: 1..<columns.count)
        return "\(head)\(rows)</tbody></table></div>"
    }

    private var stages: HTML {
        let rows = run.stages.map { stage -> HTML in
            """
            <tr><th scope="row">\(stage.name)</th>\
            <td class="figure">\(readers.first.number(stage.seconds, decimals: 2))</td>\
            <td class="figure">\(readers.first.number(stage.items))</td></tr>
            """
        }
        return """
            <details><summary>\(readers.text(.stages))</summary><table class="stages"><thead><tr>\
            <th scope="col">\(readers.text(.stage))</th><th scope="col" class="figure">\(readers.text(.seconds))</th>\
            <th scope="col" class="figure">\(readers.text(.items))</th></tr></thead><tbody>\(rows)</tbody></table></details>
            """
    }
}
