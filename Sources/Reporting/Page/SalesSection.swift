import Reconciliation

/// The part of a page that shows how Apple's sales reports differ from the tables.
struct SalesSection {
    let figures: SalesFigures
    let shown: Int
    let total: Int
    let readers: Readers

    var head: HTML {
        let heading: HTML = """
            <section class="sales"><h2 id="\(PageSections.id(of: .soldAgainstSeen))" tabindex="-1">\(readers.text(.soldAgainstSeen)) \
            <span class="count">\(readers.first.number(total))</span></h2>
            <p>\(readers.each(summary))</p>

            """
        guard total > 0 else { return heading + "<p class=\"good\">\(readers.text(.salesEqual))</p>" }
        let note: HTML = "<p class=\"soft\">\(readers.text(.salesNote))</p>\n"
        let caption = readers.caption(shown: shown, of: total)
        return heading + note
            + ListRows.tableHead(caption, Self.columns.map(readers.text), figures: 4..<Self.columns.count)
    }

    var end: HTML { total > 0 ? "</tbody></table></div></section>\n" : "</section>\n" }

    private func summary(_ reader: Reader) -> HTML {
        reader.words.html(
            .salesSummary,
            [
                "days": "\(reader.number(figures.days))", "first": "\(reader.day(figures.first))",
                "last": "\(reader.day(figures.last))", "sold": "\(reader.number(figures.unitsSold))",
                "seen": "\(reader.number(figures.unitsSeen))", "missing": "\(reader.number(figures.missing))",
                "surplus": "\(reader.number(figures.surplus))",
            ])
    }

    private static let columns: [Phrase] = [
        .day, .app, .product, .country, .unitsSold, .unitsSeen, .difference, .differenceAround, .refundsSold,
        .refundsSeen,
    ]

    static func row(_ sales: ComparedSales, _ readers: Readers) -> HTML {
        let name: HTML = sales.productName.map { "<span class=\"soft\">\($0)</span>" } ?? ""
        let figures = [
            "\(sales.unitsSold)", "\(sales.unitsSeen)", signed(sales.difference), signed(sales.differenceAround),
            "\(sales.refundsSold)", "\(sales.refundsSeen)",
        ].map { figure -> HTML in "<td class=\"figure\">\(figure)</td>" }
        return """
            <tr><td>\(readers.each { "<time datetime=\"\(sales.day.description)\">\($0.day(sales.day))</time>" })</td>\
            <td>\(HTML.foreign(sales.bundleID.text))</td><td><code>\(sales.productID.text)</code>\(name)</td>\
            <td>\(readers.each { "\($0.country(sales.place))" })</td>\(figures)</tr>

            """
    }

    /// With its sign, so that a surplus differs from a shortage without colours.
    static func signed(_ number: Int) -> String {
        number > 0 ? "+\(number)" : number < 0 ? "−\(number.magnitude)" : "0"
    }
}
