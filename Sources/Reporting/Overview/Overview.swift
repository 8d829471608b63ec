import Files
import Foundation
import Glibc
import Reconciliation

/// `REPORT_DIR/index.html`: the reports in the directory, the latest first, with their figures.
struct Overview {
    struct Entry {
        /// The name of the report's folder.
        let name: String
        let figures: ReportFigures

        /// The order of the reports in time.
        var place: (Date, Int64, String) { (figures.now, figures.runID ?? 0, name) }
    }

    let entries: [Entry]
    let readers: Readers

    /// Reads the figures of the reports in a directory.
    init(of directory: String, language: ReportLanguage, timeZone: TimeZone) {
        let names = (try? FileManager.default.contentsOfDirectory(atPath: directory)) ?? []
        readers = Readers(language, timeZone: timeZone)
        entries = names.filter { !$0.hasPrefix(".") && $0 != "latest" }
            .compactMap { name in ReportFigures.read("\(directory)/\(name)").map { Entry(name: name, figures: $0) } }
            .sorted { $0.place > $1.place }
    }

    /// Writes the page, replacing an earlier one at once.
    func write(to directory: String) throws(ReportError) {
        let path = "\(directory)/index.html"
        let temporary = try ReportFile.temporary("\(directory)/.index-").path
        let file = try ReportFile(path: temporary)
        do throws(ReportError) {
            try file.write(html.text)
            try file.finish()
            guard rename(temporary, path) == 0 else {
                throw .failed(path: path, reason: ReportFile.lastError())
            }
        } catch {
            file.remove()
            throw error
        }
    }

    var html: HTML {
        let shell = PageShell(readers: readers)
        let header: HTML = """
            <div><p class="eyebrow">iap-reconcile</p><h1>\(readers.text(.reports))</h1></div>
            """
        return shell.top(header: header) { $0.words(.reports) } + trend + table + shell.bottom
    }

    private var trend: HTML {
        // The report that was written again after the time zone was changed may lie in a second folder, of another day.
        var drawn: Set<Int64> = []
        let runs = entries.reversed().compactMap { entry -> RunFigures? in
            guard let runID = entry.figures.runID, drawn.insert(runID).inserted else { return nil }
            return RunFigures(
                runID: runID, now: entry.figures.now, cases: entry.figures.cases, new: entry.figures.new,
                closed: entry.figures.closed ?? 0, money: entry.figures.sums)
        }
        return "<section class=\"charts\">\(TrendCharts(runs, readers).html)</section>\n"
    }

    private static let columns: [Phrase] = [
        .day, .outcome, .cases, .newCases, .money, .pending, .receipts,
    ]

    private var table: HTML {
        let heads = Self.columns.map { phrase -> HTML in "\(readers.text(phrase))" }
        return """
            <section class="runs">\(ListRows.tableHead(nil, heads))\(entries.map(row))</tbody></table></div></section>

            """
    }

    /// What stands for itself in a link (RFC 3986, section 2.3, unreserved).
    private static let plainInLinks = CharacterSet.alphanumerics.union(CharacterSet(charactersIn: "-._~"))

    private func row(_ entry: Entry) -> HTML {
        let figures = entry.figures
        let name = readers.each { reader in
            figures.runID.map { reader.words.html(.run, ["n": "\(Int($0))"]) } ?? "\(reader.words(.dryRun))"
        }
        let day = readers.each { reader in reader.moment(figures.now) }
        let early: HTML = figures.endedEarly.map { "<span class=\"soft reason\">\($0)</span>" } ?? ""
        let outcome = readers.text(figures.endedEarly == nil ? .complete : .early)
        let verified = readers.first.number(figures.verified)
        // A folder may have been copied by hand, under any name.
        let folder = entry.name.addingPercentEncoding(withAllowedCharacters: Self.plainInLinks) ?? entry.name
        return """
            <tr><td><a href="\(folder)/index.html">\(name)</a><span class="soft">\(day)</span></td>\
            <td>\(outcome)\(early)</td><td>\(likelihoods(figures))</td>\
            <td>\(readers.first.number(figures.new))</td><td class="sum">\(money(figures))</td>\
            <td>\(readers.first.number(figures.pending))</td>\
            <td>\(verified) / \(readers.first.number(figures.due))</td></tr>

            """
    }

    private func likelihoods(_ figures: ReportFigures) -> HTML {
        let counts = Likelihood.allCases.map { likelihood -> HTML in
            let name = readers.each { "\($0.words.name(of: likelihood))" }
            let count = readers.first.number(figures.byLikelihood[likelihood.rawValue] ?? 0)
            return " <span class=\"badge \(likelihood.rawValue)\">\(name) \(count)</span>"
        }
        return "<b>\(readers.first.number(figures.cases))</b>\(counts)"
    }

    private func money(_ figures: ReportFigures) -> HTML {
        // What is open and has no price is no money that is known, and not none.
        if figures.sums.isEmpty {
            return "<span class=\"soft\">\(readers.text(figures.cases > 0 ? .priceUnknown : .none))</span>"
        }
        let sums = readers.each { reader in HTML.joined(figures.sums.map { "\(reader.money($0))" }) }
        guard let unpriced = figures.unpriced, unpriced > 0 else { return sums }
        let left = readers.each { $0.words.html(.unpriced, ["n": "\($0.number(unpriced))"]) }
        return "\(sums) <span class=\"soft\">\(left)</span>"
    }
}
