import Foundation
import Reconciliation

/// The top of a run's page: the figures that matter each morning.
struct PageHead {
    let run: RunReport
    let readers: Readers
    let tally: PageTally

    static func title(_ run: RunReport, _ reader: Reader) -> String {
        reader.words(run.isDryRun ? .titleOfDryRun : .title, ["day": reader.day(run.now)])
    }

    var header: HTML {
        let number: HTML = run.runID.map { id in readers.each { $0.words.html(.run, ["n": "\(Int(id))"]) } } ?? ""
        return """
            <a class="skip" href="#cases-heading">\(readers.text(.skipToCases))</a>
            <div><p class="eyebrow">iap-reconcile\(run.isDryRun ? "" : " · ")\(number)</p>
            <h1>\(readers.each { "\(Self.title(run, $0))" })</h1>
            <p class="soft">\(asOf) · <a href="../index.html">\(readers.text(.allReports))</a></p></div>
            """
    }

    private var asOf: HTML {
        readers.each { reader in
            reader.words.html(.asOf, ["time": reader.moment(run.now), "zone": "\(reader.timeZone.identifier)"])
        }
    }

    var figures: HTML {
        """
        \(alerts)\(outcome)\(toMend)\(patterns)\(hearings)\(sources)\(unjudged)<section class="figures" aria-label="\(readers.first.words(.figure))">
        <div class="card lost">\(lost)</div>
        <div class="card">\(money)</div>
        <div class="card facts"><h2>\(readers.text(.thisRun))</h2><dl>\(facts)</dl></div>
        <div class="card facts"><h2>\(readers.text(.receipts))</h2><dl>\(receipts)</dl></div>
        </section>

        """
    }

    private var alerts: HTML {
        let lines = run.alerts.map { alert -> HTML in
            let text = readers.each { reader in
                reader.words.html(AlertText(alert, reader.words, money: reader.money, moment: reader.time))
            }
            return "<p class=\"early\" data-alert=\"\(alert.name)\">\(text)</p>\n"
        }
        return "\(lines)"
    }

    private var outcome: HTML {
        guard case .endedEarly(let why) = run.outcome else { return "" }
        return "<p class=\"early\">\(readers.each { $0.words.html(.endedEarly, ["reason": "\(why)"]) })</p>\n"
    }

    private var toMend: HTML {
        list(run.toMend.map { setting in "<li>\(readers.each { $0.words.html(MendText(setting)) })</li>" })
    }

    private var hearings: HTML {
        let lines = run.hearings.flatMap { hearing in
            HearingText.all(hearing, now: run.now) { _ in "" }.indices.map { place -> HTML in
                let text = readers.each { reader in
                    reader.words.html(HearingText.all(hearing, now: run.now, moment: reader.time)[place])
                }
                return "<li>\(text)</li>"
            }
        }
        return list(lines)
    }

    /// The sources that could not be read, and the rows of any source that could not be taken.
    private var sources: HTML {
        let lines = run.sources.compactMap { pull -> HTML? in
            let problem: HTML =
                pull.problem.map { problem in
                    let values: [String: HTML] = ["source": "\(pull.name)", "problem": "\(problem)"]
                    return "<p>\(readers.each { $0.words.html(.sourceProblem, values) })</p>"
                } ?? ""
            let refused = pull.refusedRows.isEmpty ? "" : refusedRows(of: pull)
            return pull.problem == nil && pull.refusedRows.isEmpty ? nil : "<li>\(problem)\(refused)</li>"
        }
        return list(lines)
    }

    /// A list of what is not as it should be; empty if there is nothing.
    private func list(_ lines: [HTML]) -> HTML {
        lines.isEmpty ? "" : "<ul class=\"unjudged\">\(lines)</ul>\n"
    }

    private func refusedRows(of pull: SourcePull) -> HTML {
        let rows = pull.refusedRows.map { row -> HTML in
            "<li><code>\(HTML.foreign(row.id))</code> \(HTML.foreign(row.what))</li>"
        }
        let values: [String: HTML] = ["source": "\(pull.name)", "n": number(pull.refusedLately)]
        return """
            <details><summary>\(readers.each { $0.words.html(.sourceRefused, values) })</summary>\
            <ul>\(rows)</ul></details>
            """
    }

    private var patterns: HTML {
        if run.patterns.isEmpty { return "" }
        let lines = run.patterns.enumerated().map { place, pattern -> HTML in
            let text = readers.each { $0.words.html(PatternText(pattern, $0.words, moment: $0.time)) }
            let show = readers.each { $0.words.html(.showPattern, ["n": "\($0.number(pattern.counts.cases))"]) }
            return """
                <li>\(text) <a href="#cases-heading" data-pattern="\(place + 1)">\(show)</a></li>

                """
        }
        return """
            <section class="patterns" aria-labelledby="patterns"><h2 id="patterns">\(readers.text(.patterns))</h2>
            <ul>\(lines)</ul></section>

            """
    }

    private var unjudged: HTML {
        list(
            run.unjudged.map { unjudged in
                "<li>\(readers.each { $0.words.html(UnjudgedText(unjudged, $0.words, money: $0.money)) })</li>"
            })
    }

    private var lost: HTML {
        let counts = run.cases
        let likelyLost = readers.each { $0.words.html(.likelyLost, ["n": "\(counts.total)"]) }
        let bar = Charts.parts(Likelihood.allCases.map { ($0.rawValue, counts.byLikelihood[$0] ?? 0) })
        let legend = Likelihood.allCases.map { likelihood -> HTML in
            let count = number(counts.byLikelihood[likelihood] ?? 0)
            return """
                <li><span class="badge \(likelihood.rawValue)">\(readers.each { "\($0.words.name(of: likelihood))" })</span> \
                <b>\(count)</b></li>
                """
        }
        return """
            <h2><b class="hero">\(number(counts.total))</b> \(likelyLost)</h2>
            \(bar)<ul class="legend">\(legend)</ul>
            """
    }

    private static let shownCurrencies = 4

    private var money: HTML {
        let sums = run.cases.money.map { sum -> HTML in
            "<li data-money=\"\(sum.milliunits.description)\">\(readers.each { "\($0.money(sum))" })</li>"
        }
        let first = Array(sums.prefix(Self.shownCurrencies))
        let others = Array(sums.dropFirst(Self.shownCurrencies))
        let rest: HTML =
            others.isEmpty
            ? ""
            : """
            <details><summary>\(readers.each { $0.words.html(.moreCurrencies, ["n": "\(others.count)"]) })</summary>\
            <ul class="sums">\(others)</ul></details>
            """
        let unpriced: HTML =
            run.cases.unpriced == 0
            ? "" : "<li>\(readers.each { $0.words.html(.unpriced, ["n": "\(run.cases.unpriced)"]) })</li>"
        let sumsOrNone: HTML = sums.isEmpty && run.cases.unpriced == 0 ? "<li>\(readers.text(.none))</li>" : "\(first)"
        return """
            <h2>\(readers.text(.money))</h2><ul class="sums">\(sumsOrNone)\(unpriced)</ul>\(rest)
            <p class="soft">\(readers.text(.moneyNote))</p>
            """
    }

    private var facts: HTML {
        let oldest = run.cases.oldestPurchase.map { date in
            readers.each { "\($0.age(of: date, at: run.now))" }
        }
        return """
            \(fact(number(run.cases.new), readers.text(.newInRun)))\
            \(run.cases.reopened > 0 ? fact(number(run.cases.reopened), readers.text(.reopenedInRun)) : "")\
            \(fact(number(run.cases.closed.values.reduce(0, +)), readers.text(.closedSince)))\
            \(redelivered)\
            \(fact(oldest ?? readers.text(.none), readers.text(.oldest)))\
            \(fact(number(run.pending), readers.text(.pending), note: readers.text(.pendingNote)))
            """
    }

    /// Shown only if there are any: most apps deliver to customers alone.
    private var redelivered: HTML {
        let figures = run.redeliveries
        guard !figures.isEmpty else { return "" }
        let failing = readers.each { $0.words.html(.redeliveriesFailing, ["n": "\($0.number(figures.failing))"]) }
        return fact(
            number(figures.delivered), readers.text(.redelivered), note: figures.failing > 0 ? failing : nil)
    }

    private var receipts: HTML {
        let counts = run.receipts
        let verified = readers.each { $0.words.html(.verifiedOfDue, ["n": "\($0.number(counts.due))"]) }
        return """
            \(fact(number(counts.verified), verified))\
            \(fact(number(counts.tryAgain), readers.text(.notVerified)))\
            \(fact(number(counts.unusable), readers.text(.unusableCount)))\
            \(fact(number(counts.left), readers.text(.notTried)))
            """
    }

    private func fact(_ figure: HTML, _ label: HTML, note: HTML? = nil) -> HTML {
        let note: HTML = note.map { "<span class=\"soft\">\($0)</span>" } ?? ""
        return "<div><dt>\(label)\(note)</dt><dd>\(figure)</dd></div>"
    }

    private func number(_ value: Int) -> HTML { "\(readers.first.number(value))" }

    var charts: HTML {
        let trend = TrendCharts(run.history, readers).html
        let clients = ClientCharts(tally: tally.clients, figures: run.clients, readers: readers).html
        return """
            <section class="charts">
            <div class="card"><h2>\(readers.text(.ageing))</h2><p class="soft">\(readers.text(.ageingNote))</p>
            \(Charts.ageing(tally.ages, readers))</div>
            \(trend)\(clients)</section>

            """
    }
}

/// What the head of a page says of its lists, counted as they came.
struct PageTally {
    var cases = 0
    var ages: [AgeBracket: Int] = [:]
    var clients = ClientTally()
}
