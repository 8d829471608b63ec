import Foundation
import Reconciliation

/// The part of a page that lists cases: a heading, the place for search and filters, the table, and links to further
/// pages.
struct CaseSection {
    let readers: Readers
    let page: CasePage
    let pages: Int
    let total: Int

    var head: HTML {
        let heading: HTML = """
            <section id="cases-section"><h2 id="\(PageSections.id(of: .cases))" tabindex="-1">\(readers.text(.cases)) \
            <span class="count">\(readers.first.number(total))</span></h2>

            """
        if total == 0 { return heading + "<p class=\"good\">\(readers.text(.noCases))</p>" }
        let caption = readers.caption(shown: page.shown, of: total, part: .firstOf, whole: .allOf)
        let columns = CaseRow.columns.map { "\(readers.text($0))" as HTML }
        return """
            \(heading)\(overflow)<noscript><p class="early">\(readers.first.words(.scriptOff))</p></noscript>
            <div id="tools" hidden></div>
            <div id="cases-table">\(ListRows.tableHead(caption, columns))
            """
    }

    var end: HTML {
        if total == 0 { return "</section>\n" }
        return "</tbody></table></div></div><div id=\"pager\" hidden></div>\(ways)</section>\n"
    }

    private var overflow: HTML {
        guard pages > 1, page.number == 1 else { return "" }
        let text = readers.each {
            $0.words.html(.furtherPages, ["n": "\($0.number(page.count))", "total": "\($0.number(total))"])
        }
        return "<p class=\"soft\">\(text)</p>"
    }

    /// Links to the other pages.
    private var ways: HTML {
        guard pages > 1 else { return "" }
        let links = (1...pages).map { number -> HTML in
            let text = readers.each { $0.words.html(.otherPage, ["n": "\(number)"]) }
            return number == page.number
                ? "<li aria-current=\"page\">\(text)</li>"
                : "<li><a href=\"\(CasePage.name(of: number))\">\(text)</a></li>"
        }
        return "<nav class=\"ways\"><ul>\(links)</ul></nav>"
    }
}
