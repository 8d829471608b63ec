import Foundation
import Reconciliation

/// `index.html`: one self-contained page without scripts, which opens from a disk or a mail.
struct Page {
    let run: RunReport
    let formats: Formats

    /// A page of more rows is slow to open; the CSV and JSON files hold them all.
    static let shownCases = 5000
    static let shownReceipts = 2000

    var head: HTML {
        """
        <!DOCTYPE html>
        <html lang="en"><head><meta charset="utf-8">
        <meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src '\(PageStyle.hash)'">
        <meta name="viewport" content="width=device-width, initial-scale=1">
        <meta name="referrer" content="no-referrer">
        <title>\(title)</title>
        <style>\(HTML(stringLiteral: PageStyle.css))</style></head><body>
        <header><h1>\(title)</h1>
        <p class="soft">As of \(Formats.utc(run.now)) · \(formats.local(run.now)) \(formats.zoneName)</p>
        \(outcome)</header><main>
        \(cards)
        <h2>Likely lost orders</h2>
        \(casesHead)
        """
    }

    private var title: String {
        let day = formats.day(run.now)
        return run.runID.map { "Lost orders, \(day), run \($0)" } ?? "Lost orders, \(day), dry run"
    }

    private var outcome: HTML {
        switch run.outcome {
        case .complete: ""
        case .endedEarly(let why): "<p class=\"early\">This run ended early: \(why).</p>"
        }
    }

    private var cards: HTML {
        let counts = run.cases
        let money = counts.money.map { card(Formats.text($0), "likely lost") }
        let oldest = counts.oldestPurchase.map { Wording.age(run.now.timeIntervalSince($0)) } ?? "none"
        return """
            <div class="cards">
            \(card(String(counts.total), "likely lost orders"))
            \(card(String(counts.byLikelihood[.high] ?? 0), "of high likelihood"))
            \(card(String(counts.new), "new in this run"))
            \(money)
            \(card(oldest, "age of the oldest"))
            \(card(String(run.pending), "pending within their grace"))
            \(card("\(run.receipts.verified) of \(run.receipts.due)", "receipts verified"))
            </div>
            """
    }

    private func card(_ figure: String, _ label: String) -> HTML {
        "<div class=\"card\"><b>\(figure)</b><span>\(label)</span></div>"
    }

    private var casesHead: HTML {
        let total = run.cases.total
        if total == 0 { return "<p>No likely lost order: every purchase that was seen is delivered or pending.</p>" }
        let caption: HTML =
            total > Self.shownCases
            ? "The first \(Self.shownCases) of \(total); lost-orders.csv and report.json hold all."
            : "All \(total), the likeliest first, then the oldest."
        return Self.tableHead(
            caption, ["Likelihood", "User", "Transaction", "Product", "Price", "Purchased", "What to do"])
    }

    static func tableHead(_ caption: HTML, _ columns: [String]) -> HTML {
        let cells = columns.map { name -> HTML in "<th scope=\"col\">\(name)</th>" }
        return """
            <div class="scroll"><table><caption>\(caption)</caption><thead><tr>\(cells)</tr></thead><tbody>

            """
    }

    static let tableEnd: HTML = "</tbody></table></div>\n"

    func row(_ found: ReportedCase) -> HTML {
        let likelihood = found.assessment.likelihood.rawValue
        let new: HTML = found.isNew ? " <span class=\"badge new\">new</span>" : ""
        let users = found.assessment.owner.candidates
        let user: HTML =
            users.isEmpty
            ? "unknown owner"
            : users.prefix(3).map(HTML.foreign).reduce("") { $0.text.isEmpty ? $1 : $0 + ", " + $1 }
        let more: HTML = users.count > 3 ? " and \(users.count - 3) more" : ""
        return """
            <tr><td><span class="badge \(likelihood)">\(likelihood)</span>\(new)</td>\
            <td data-label="User">\(user)\(more)</td>\
            <td data-label="Transaction"><code>\(found.key.id.text)</code></td>\
            <td data-label="Product">\(product(found))</td>\
            <td data-label="Price">\(price(found))</td>\
            <td data-label="Purchased">\(formats.local(found.purchasedAt))\
            <br><span class="soft">\(Wording.age(run.now.timeIntervalSince(found.purchasedAt))) ago</span></td>\
            <td>\(Wording.action(found.assessment, orderIDs: found.orderIDs))\(evidence(found))</td></tr>

            """
    }

    private func product(_ found: ReportedCase) -> HTML {
        let name: HTML = found.productName.map { "\(HTML.foreign($0))<br>" } ?? ""
        let quantity: HTML = found.quantity == 1 ? "" : " × \(found.quantity)"
        return "\(name)<code>\(found.productID.text)</code>\(quantity)"
    }

    private func price(_ found: ReportedCase) -> HTML {
        guard let price = found.price else { return "<span class=\"soft\">not known</span>" }
        let note: HTML = found.isListPrice ? "<br><span class=\"soft\">list price</span>" : ""
        return "\(Formats.text(price))\(note)"
    }

    private func evidence(_ found: ReportedCase) -> HTML {
        let reasons = found.assessment.reasons.map { reason -> HTML in "<li>\(Wording.sentence(reason))</li>" }
        let sightings = found.sightings.prefix(20).map { seen -> HTML in
            let user: HTML = seen.userID.map(HTML.foreign) ?? "nobody logged in"
            let order: HTML = seen.orderID.map { ", order \(HTML.foreign($0))" } ?? ""
            let why: HTML = seen.isNamed ? "for this purchase" : "for something else"
            return
                "<li>\(formats.local(seen.uploadedAt)): uploaded by \(user) \(why)\(order), receipt \(Int(seen.receiptID))</li>"
        }
        let claims = found.claims.prefix(20).map { claim -> HTML in
            "<li>\(formats.local(claim.attemptedAt)): claim by \(HTML.foreign(claim.userID)): \(claim.outcome.rawValue)</li>"
        }
        let device: HTML = found.device == nil ? "" : "<li>Device: \(HTML.foreign(Wording.device(found.device)))</li>"
        return """
            <details><summary>Evidence</summary><ul>\(reasons)\
            <li>\(formats.local(found.purchasedAt)): purchased (\(Formats.utc(found.purchasedAt)))</li>\
            \(sightings)\(claims)\(device)\
            <li>App \(found.key.bundleID.text), \(found.key.environment.rawValue); verified by \
            \(Wording.source(found.source)); original transaction <code>\(found.originalID.text)</code></li>\
            </ul></details>
            """
    }

    func row(_ notice: ReceiptNotice) -> HTML {
        let user: HTML = notice.userID.map(HTML.foreign) ?? "nobody logged in"
        return """
            <tr><td data-label="Receipt"><code>\(Int(notice.receiptID))</code></td><td data-label="User">\(user)</td>\
            <td data-label="App">\(HTML.foreign(notice.bundleID))</td>\
            <td data-label="Uploaded">\(formats.local(notice.submittedAt))</td>\
            <td data-label="Reason">\(Wording.sentence(notice.problem))<br><span class="soft">\(notice.detail)</span></td>\
            <td data-label="Nights">\(notice.attempts)</td>\
            <td data-label="Device">\(HTML.foreign(Wording.device(notice.device)))</td>\
            <td>\(Wording.action(notice.problem))</td></tr>

            """
    }

    func row(_ found: Suspicion) -> HTML {
        let users = found.userIDs.prefix(10).map(HTML.foreign).reduce("" as HTML) {
            $0.text.isEmpty ? $1 : $0 + ", " + $1
        }
        return """
            <tr><td>\(Wording.title(found.kind))</td>\
            <td data-label="Transaction"><code>\(found.key.id.text)</code></td>\
            <td data-label="App">\(found.key.bundleID.text)</td>\
            <td data-label="Product"><code>\(found.productID.text)</code></td><td data-label="Users">\(users)</td>\
            <td>\(found.detail)</td></tr>

            """
    }

    static let receiptColumns = ["Receipt", "User", "App", "Uploaded", "Reason", "Nights", "Device", "What to do"]
    static let suspicionColumns = ["What", "Transaction", "App", "Product", "Users", "Found"]

    /// The control totals and stages, and the page's end.
    var end: HTML {
        let totals = run.totals
        let verdict = totals.imbalances.isEmpty ? "They balance." : "They do not balance."
        let stages = run.stages.map { stage -> HTML in
            let seconds = stage.seconds.formatted(.number.precision(.fractionLength(2)).grouping(.never))
            return "<li>\(stage.name): \(seconds) s, \(stage.items)</li>"
        }
        return """
            <h2>Control totals</h2><p>\(verdict)</p><ul>
            <li>verified \(totals.verified.transactions) = newly white \(totals.newlyWhite.transactions) + already white \
            \(totals.alreadyWhite.transactions) + already black \(totals.alreadyBlack.transactions) + excluded \
            \(totals.excluded.transactions)</li>
            <li>opening white \(totals.openingWhite.transactions) + new \(totals.new.transactions) − claimed \
            \(totals.claimed.transactions) − resolved \(totals.resolved.transactions) − refunded \
            \(totals.refunded.transactions) = closing white \(totals.closingWhite.transactions)</li></ul>
            <details><summary>Time by stage, over all workers</summary><ul>\(stages)</ul></details>
            </main></body></html>

            """
    }
}
