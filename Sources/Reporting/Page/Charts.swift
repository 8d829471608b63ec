import Foundation
import Reconciliation

/// The page's charts, as inline SVG. Text beside them says what they show.
enum Charts {
    /// A bar of parts that add up to the whole; the class of each part colours it.
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

    /// A bar for each bracket, in a table that can be read without them.
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

    static func percent(_ part: Int, of whole: Int) -> String {
        fixed(100 * Double(part) / Double(whole))
    }

    /// Formatted with two decimals and a point, whatever the locale.
    static func fixed(_ value: Double) -> String {
        let hundredths = Int((value * 100).rounded())
        return "\(hundredths / 100).\(String(hundredths % 100 + 100).dropFirst())"
    }
}
