import Foundation
import Reconciliation

/// The page's charts, as SVG within it. What they show stands beside them as text.
enum Charts {
    /// A bar of parts that add up to the whole; each part's class colours it.
    static func parts(_ parts: [(name: String, count: Int)]) -> HTML {
        let total = max(1, parts.reduce(0) { $0 + $1.count })
        var start = 0
        let bars = parts.map { part -> HTML in
            defer { start += part.count }
            return """
                <rect class="fill-\(part.name)" x="\(percent(start, of: total))" width="\(percent(part.count, of: total))" \
                height="10"/>
                """
        }
        return """
            <svg class="parts" viewBox="0 0 100 10" preserveAspectRatio="none" aria-hidden="true" focusable="false">\
            \(bars)</svg>

            """
    }

    /// A bar for each bracket, in a table that reads without them.
    static func ageing(_ counts: [AgeBracket: Int], _ readers: Readers) -> HTML {
        let most = max(1, counts.values.max() ?? 0)
        let rows = AgeBracket.allCases.map { bracket -> HTML in
            let count = counts[bracket] ?? 0
            return """
                <tr><th scope="row">\(readers.each { "\($0.words.name(of: bracket))" })</th><td class="bar">\
                <svg viewBox="0 0 100 10" preserveAspectRatio="none" aria-hidden="true" focusable="false">\
                <rect class="fill-age" width="\(percent(count, of: most))" height="10"/></svg></td>\
                <td class="figure">\(readers.first.number(count))</td></tr>

                """
        }
        return """
            <table class="ageing"><thead class="unseen"><tr><th scope="col">\(readers.text(.age))</th><td></td>\
            <th scope="col">\(readers.text(.count))</th></tr></thead><tbody>
            \(rows)</tbody></table>
            """
    }

    private static let width = 600
    private static let height = 160
    static let shownRuns = 30

    /// The open cases after each of the last runs as a line, those new in it as bars. Nothing while there is but one
    /// run.
    static func trend(_ history: [RunFigures], _ readers: Readers) -> HTML {
        let runs = history.suffix(shownRuns)
        guard let first = runs.first, let last = runs.last, runs.count > 1 else { return "" }
        let summary = readers.each {
            $0.words.html(.trendSummary, ["first": "\($0.number(first.cases))", "last": "\($0.number(last.cases))"])
        }
        return """
            <div class="card"><h2>\(readers.each { $0.words.html(.trend, ["n": "\(runs.count)"]) })</h2>
            <p class="soft">\(readers.text(.trendNote))</p>
            <div class="trend"><span class="most" aria-hidden="true">\(readers.first.number(most(runs)))</span>\(plot(Array(runs)))</div>
            <div class="ends" aria-hidden="true"><span>\(readers.each { "\($0.day(first.now))" })</span>\
            <span>\(readers.each { "\($0.day(last.now))" })</span></div><p class="unseen">\(summary)</p></div>
            """
    }

    private static func most(_ runs: some Sequence<RunFigures>) -> Int {
        max(1, runs.reduce(0) { max($0, $1.cases, $1.new) })
    }

    private static func plot(_ runs: [RunFigures]) -> HTML {
        let most = most(runs)
        let step = Double(width) / Double(runs.count)
        func x(_ index: Int) -> String { fixed((Double(index) + 0.5) * step) }
        func y(_ count: Int) -> Double { Double(height) * (1 - Double(count) / Double(most)) }
        let points = runs.enumerated().map { "\(x($0.offset)),\(fixed(y($0.element.cases)))" }.joined(separator: " ")
        let bars = runs.enumerated().map { index, run -> HTML in
            let left = fixed((Double(index) + 0.2) * step)
            return """
                <g><title>\(Formats.utc(run.now).prefix(10).description): \(run.cases) (+\(run.new))</title>\
                <rect class="hit" x="\(fixed(Double(index) * step))" width="\(fixed(step))" height="\(height)"/>\
                <rect class="fill-new" x="\(left)" y="\(fixed(y(run.new)))" width="\(fixed(step * 0.6))" \
                height="\(fixed(Double(height) - y(run.new)))"/></g>
                """
        }
        return """
            <svg viewBox="0 0 \(width) \(height)" preserveAspectRatio="none" aria-hidden="true" focusable="false">\(bars)\
            <polygon class="area" points="\(x(0)),\(height) \(points) \(x(runs.count - 1)),\(height)"/>\
            <polyline class="line" points="\(points)"/></svg>
            """
    }

    private static func percent(_ part: Int, of whole: Int) -> String {
        fixed(100 * Double(part) / Double(whole))
    }

    /// With two decimals and a point, whatever the locale.
    private static func fixed(_ value: Double) -> String {
        let hundredths = Int((value * 100).rounded())
        return "\(hundredths / 100).\(String(hundredths % 100 + 100).dropFirst())"
    }
}
