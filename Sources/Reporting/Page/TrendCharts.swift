import Foundation
import Reconciliation

/// The results of the last runs as charts: the open cases, the new and closed ones, and their money.
struct TrendCharts {
    private let runs: [RunFigures]
    private let readers: Readers

    static let shownRuns = 90
    private static let height = 160
    /// How many currencies are drawn, of the most nights and the most money: amounts of different currencies share no
    /// axis.
    private static let shownCurrencies = 3

    init(_ history: [RunFigures], _ readers: Readers) {
        runs = Array(history.suffix(Self.shownRuns))
        self.readers = readers
    }

    /// A card for each chart; none if there is only one run.
    var html: HTML {
        guard let first = runs.first, let last = runs.last, runs.count > 1 else { return "" }
        return open(first, last) + flow(first, last) + money(first, last)
    }

    /// The open cases after each run as a line, and the new ones as bars.
    private func open(_ first: RunFigures, _ last: RunFigures) -> HTML {
        let most = max(1, runs.reduce(0) { max($0, $1.cases, $1.new) })
        let values = ["first": first.cases, "last": last.cases]
        let plot = Plot(count: runs.count, height: Self.height, range: 0...Double(most))
        let bars = runs.enumerated().map { index, run -> HTML in
            plot.group(
                index, title: "\(day(run)): \(run.cases) (+\(run.new))", [plot.bar(index, Double(run.new), "fill-new")])
        }
        return card(
            readers.each { $0.words.html(.trend, ["n": "\(runs.count)"]) }, readers.text(.trendNote),
            "\(largest(most))\(plot.svg("\(bars)\(plot.area(runs.map { Double($0.cases) }))"))",
            ends: (first, last), summary: (.trendSummary, values))
    }

    /// New cases above the line, closed ones below it.
    private func flow(_ first: RunFigures, _ last: RunFigures) -> HTML {
        let most = max(1, runs.reduce(0) { max($0, $1.new, $1.closed) })
        let values = ["new": runs.reduce(0) { $0 + $1.new }, "closed": runs.reduce(0) { $0 + $1.closed }]
        let plot = Plot(count: runs.count, height: Self.height, range: -Double(most)...Double(most))
        let bars = runs.enumerated().map { index, run -> HTML in
            plot.group(
                index, title: "\(day(run)): +\(run.new) −\(run.closed)",
                [plot.bar(index, Double(run.new), "fill-new"), plot.bar(index, -Double(run.closed), "fill-closed")])
        }
        return card(
            readers.text(.flow), readers.text(.flowNote), "\(largest(most))\(plot.svg("\(bars)\(plot.zero)"))",
            ends: (first, last), summary: (.flowSummary, values))
    }

    /// The money of the open cases after each run, separately for each currency.
    private func money(_ first: RunFigures, _ last: RunFigures) -> HTML {
        let (drawn, others) = currencies
        let lines = drawn.map { currency -> HTML in
            let sums = runs.map { run in run.money.first { $0.currency == currency }?.milliunits ?? 0 }
            let plot = Plot(count: runs.count, height: Self.height / 3, range: 0...Double(max(1, sums.max() ?? 1)))
            let titles = zip(runs, sums).enumerated().map { index, night -> HTML in
                let sum = readers.first.money(Money(milliunits: night.1, currency: currency))
                return plot.group(index, title: "\(day(night.0)): \(sum)", [])
            }
            let now = readers.each { "\($0.money(Money(milliunits: sums.last ?? 0, currency: currency)))" }
            return """
                <div class="trend money"><p><b>\(now)</b></p>\(plot.svg("\(titles)\(plot.area(sums.map(Double.init)))"))</div>
                """
        }
        guard !lines.isEmpty else { return "" }
        let left = others.map(\.text).joined(separator: ", ")
        let note = readers.each { $0.words.html(.moneyTrendLeft, ["currencies": "\(left)"]) }
        return """
            <div class="card"><h2>\(readers.text(.moneyTrend))</h2><p class="soft">\(readers.text(.moneyTrendNote))</p>
            \(lines)\(others.isEmpty ? "" as HTML : "<p class=\"soft\">\(note)</p>")\(ends(first, last))</div>
            """
    }

    /// The currencies that are drawn, and the others.
    private var currencies: (drawn: [CurrencyCode], others: [CurrencyCode]) {
        var ranks: [CurrencyCode: (nights: Int, most: Int64)] = [:]
        for sum in runs.flatMap(\.money) where sum.milliunits > 0 {
            let rank = ranks[sum.currency] ?? (0, 0)
            ranks[sum.currency] = (rank.nights + 1, max(rank.most, sum.milliunits))
        }
        let ranked = ranks.sorted { one, other in
            (other.value.nights, other.value.most, one.key.text) < (one.value.nights, one.value.most, other.key.text)
        }.map(\.key)
        let others = ranked.dropFirst(Self.shownCurrencies).sorted { $0.text < $1.text }
        return (Array(ranked.prefix(Self.shownCurrencies)), others)
    }

    private func card(
        _ title: HTML, _ note: HTML, _ plot: HTML, ends: (RunFigures, RunFigures),
        summary: (phrase: Phrase, values: [String: Int])
    ) -> HTML {
        let words = readers.each { reader in
            reader.words.html(summary.phrase, summary.values.mapValues { "\(reader.number($0))" })
        }
        return """
            <div class="card"><h2>\(title)</h2><p class="soft">\(note)</p>
            <div class="trend">\(plot)</div>
            \(self.ends(ends.0, ends.1))<p class="unseen">\(words)</p></div>

            """
    }

    private func largest(_ count: Int) -> HTML {
        "<span class=\"most\" aria-hidden=\"true\">\(readers.first.number(count))</span>"
    }

    private func ends(_ first: RunFigures, _ last: RunFigures) -> HTML {
        """
        <div class="ends" aria-hidden="true"><span>\(readers.each { "\($0.day(first.now))" })</span>\
        <span>\(readers.each { "\($0.day(last.now))" })</span></div>
        """
    }

    /// The day as in the name of the report's folder.
    private func day(_ run: RunFigures) -> String { Formats(timeZone: readers.first.timeZone).day(run.now) }
}

/// The position of a night and a value in a chart's box.
private struct Plot {
    private static let width = 600
    let count: Int
    let height: Int
    let range: ClosedRange<Double>

    private var step: Double { Double(Self.width) / Double(count) }
    private func x(_ index: Int) -> String { Charts.fixed((Double(index) + 0.5) * step) }
    private func y(_ value: Double) -> Double {
        Double(height) * (range.upperBound - value) / (range.upperBound - range.lowerBound)
    }

    func svg(_ content: HTML) -> HTML {
        """
        <svg viewBox="0 0 \(Self.width) \(height)" preserveAspectRatio="none" aria-hidden="true" focusable="false">\
        \(content)</svg>
        """
    }

    /// A group of one night's shapes, with a title that the pointer shows.
    func group(_ index: Int, title: String, _ bars: [HTML]) -> HTML {
        """
        <g><title>\(title)</title><rect class="hit" x="\(Charts.fixed(Double(index) * step))" \
        width="\(Charts.fixed(step))" height="\(height)"/>\(bars)</g>
        """
    }

    func bar(_ index: Int, _ value: Double, _ name: String) -> HTML {
        let (top, bottom) = (y(max(value, 0)), y(min(value, 0)))
        return """
            <rect class="\(name)" x="\(Charts.fixed((Double(index) + 0.2) * step))" y="\(Charts.fixed(top))" \
            width="\(Charts.fixed(step * 0.6))" height="\(Charts.fixed(bottom - top))"/>
            """
    }

    func area(_ values: [Double]) -> HTML {
        let points = values.enumerated().map { "\(x($0.offset)),\(Charts.fixed(y($0.element)))" }.joined(separator: " ")
        return """
            <polygon class="area" points="\(x(0)),\(height) \(points) \(x(count - 1)),\(height)"/>\
            <polyline class="line" points="\(points)"/>
            """
    }

    var zero: HTML { "<path class=\"zero\" d=\"M0 \(Charts.fixed(y(0)))H\(Self.width)\"/>" }
}
