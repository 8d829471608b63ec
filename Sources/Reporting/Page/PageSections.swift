/// The links from the figures to each section of a page.
struct PageSections {
    let readers: Readers
    /// The title of each section, and how many lines it has if it is a list.
    let entries: [(title: Phrase, count: Int?)]

    /// The id of a section's heading.
    static func id(of title: Phrase) -> HTML {
        title == .cases ? "cases-heading" : "\(title.rawValue)-heading"
    }

    var html: HTML {
        let links = entries.map { entry -> HTML in
            let count: HTML = entry.count.map { " <span class=\"count\">\(readers.first.number($0))</span>" } ?? ""
            return "<li><a href=\"#\(Self.id(of: entry.title))\">\(readers.text(entry.title))</a>\(count)</li>"
        }
        return "<nav class=\"sections\" aria-label=\"\(readers.first.words(.sections))\"><ul>\(links)</ul></nav>\n"
    }
}
