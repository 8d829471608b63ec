import Foundation
import Reconciliation

/// Writes `index.html`, and further pages if one page can't hold all cases. Findings are kept in files until everything
/// in the head of the page is known.
final class PageFiles: ReportPart {
    /// A page with more cases is slow to open. Its lists, rows, style and script come to about 2 MB, so the whole stays
    /// below 15 MB.
    struct Limits {
        var cases = 50_000
        var caseBytes = 12_500_000
        var rows = PlainRows.Limits()
        var listBytes = 400_000
        /// How far a page may exceed its limit to keep a customer's cases together.
        var overhang = 1.1
    }

    private let context: ReportContext
    private let readers: Readers
    private let limits: Limits
    private let caseRow: CaseRow
    private let listRows: ListRows
    private var tally = PageTally()
    private var lastCustomer: CustomerCases?
    private var pages: [CasePage]
    private let unusable, unverified, suspicious, sales: ListFile

    init(_ context: ReportContext, limits: Limits = Limits()) throws {
        self.context = context
        self.limits = limits
        readers = Readers(context.language, timeZone: context.run.timeZone)
        caseRow = CaseRow(reader: readers.first, now: context.run.now)
        listRows = ListRows(readers: readers)
        pages = [try CasePage(number: 1, rows: PlainRows(caseRow, limits: limits.rows), in: context.folder)]
        unusable = ListFile(try context.folder.file(".unusable"), limit: limits.listBytes)
        unverified = ListFile(try context.folder.file(".unverified"), limit: limits.listBytes)
        suspicious = ListFile(try context.folder.file(".suspicious"), limit: limits.listBytes)
        sales = ListFile(try context.folder.file(".sales"), limit: limits.listBytes)
    }

    func add(_ lostOrder: ReportedCase) throws {
        var page = pages[pages.count - 1]
        let isFirst = lostOrder.customer == nil || lostOrder.customer != lastCustomer
        lastCustomer = lostOrder.customer
        if isFull(page, byMoreThan: isFirst ? 1 : limits.overhang) {
            let rows = PlainRows(caseRow, limits: limits.rows)
            page = try CasePage(number: pages.count + 1, rows: rows, in: context.folder)
            pages.append(page)
        }
        try page.add(lostOrder)
        tally.cases += 1
        tally.ages[AgeBracket(purchasedAt: lostOrder.purchasedAt, now: context.run.now), default: 0] += 1
        tally.clients.add(lostOrder)
    }

    private func isFull(_ page: CasePage, byMoreThan share: Double) -> Bool {
        Double(page.count) >= Double(limits.cases) * share || Double(page.data.size) >= Double(limits.caseBytes) * share
    }

    func add(unusable receipt: TroubledReceipt) throws { try unusable.add { listRows.html(receipt) } }
    func add(unverified receipt: TroubledReceipt) throws { try unverified.add { listRows.html(receipt) } }
    func add(_ suspicion: Suspicion) throws { try suspicious.add { listRows.html(suspicion) } }
    func add(_ difference: ComparedSales) throws {
        try sales.add { SalesSection.row(difference, readers) }
    }

    func finish() throws {
        for page in pages { try write(page) }
        for page in pages { page.remove() }
        for list in [unusable, unverified, suspicious, sales] { list.file.remove() }
    }

    private func write(_ page: CasePage) throws {
        let file = try context.folder.file(page.name)
        let run = context.run
        let shell = PageShell(readers: readers)
        let head = PageHead(run: run, readers: readers, tally: tally)
        try file.write(shell.top(header: head.header) { PageHead.title(run, $0) }.text)
        if page.number == 1 { try file.write((head.figures + head.charts + sections.html).text) }
        try write(page, to: file)
        if page.number == 1 { try writeLists(to: file) }
        try file.write(shell.bottom.text)
        try file.finish()
    }

    private func write(_ page: CasePage, to file: ReportFile) throws {
        let section = CaseSection(readers: readers, page: page, pages: pages.count, total: tally.cases)
        try file.write(section.head.text)
        try file.append(contentsOf: page.rows)
        try file.write(section.end.text)
        guard page.count > 0 else { return }
        try file.write(PageShell.data(id: "settings", PageSettings(run: context.run, cases: page.table)).text)
        try file.write("<script type=\"application/json\" id=\"cases\">[")
        try file.append(contentsOf: page.data)
        try file.write("]</script>\n")
    }

    private var lists: [(title: Phrase, list: ListFile, columns: [Phrase])] {
        [
            (.unverified, unverified, ListRows.receiptColumns), (.unusable, unusable, ListRows.receiptColumns),
            (.suspicious, suspicious, ListRows.suspicionColumns),
        ]
    }

    private var sections: PageSections {
        PageSections(
            readers: readers,
            entries: [(.cases, tally.cases)] + lists.map { ($0.title, $0.list.total) }
                + (context.run.sales == nil ? [] : [(.soldAgainstSeen, sales.total)]) + [(.totals, nil)])
    }

    private func writeLists(to file: ReportFile) throws {
        for (title, list, columns) in lists {
            let section = listRows.section(title, shown: list.shown, of: list.total, columns: columns)
            try file.write(section.head.text)
            try file.append(contentsOf: list.file)
            try file.write(section.end.text)
        }
        if let figures = context.run.sales {
            let section = SalesSection(figures: figures, shown: sales.shown, total: sales.total, readers: readers)
            try file.write(section.head.text)
            try file.append(contentsOf: sales.file)
            try file.write(section.end.text)
        }
        try file.write(TotalsSection(run: context.run, readers: readers).html.text)
    }
}

/// The rows of one of the page's lists, as many as its limit allows.
final class ListFile {
    let file: ReportFile
    private let limit: Int
    private(set) var shown = 0
    private(set) var total = 0

    init(_ file: ReportFile, limit: Int) {
        self.file = file
        self.limit = limit
    }

    func add(_ row: () -> HTML) throws {
        total += 1
        guard file.size < limit else { return }
        shown += 1
        try file.write(row().text)
    }
}

/// The cases of one page: the rows in the page itself, and all cases for its script.
final class CasePage {
    let number: Int
    let rows, data: ReportFile
    private(set) var table = CaseData()
    private(set) var count = 0
    private var plainRows: PlainRows

    init(number: Int, rows plainRows: PlainRows, in folder: ReportFolder) throws(ReportError) {
        self.number = number
        self.plainRows = plainRows
        rows = try folder.file(".rows-\(number)")
        data = try folder.file(".cases-\(number)")
    }

    var name: String { Self.name(of: number) }

    static func name(of number: Int) -> String { number == 1 ? "index.html" : "page-\(number).html" }

    /// How many cases have a row in the page itself.
    var shown: Int { plainRows.shown }

    func add(_ found: ReportedCase) throws {
        try data.write((count > 0 ? ",\n" : "\n") + table.line(found))
        count += 1
        try rows.write(plainRows.html(found).text)
    }

    func remove() {
        rows.remove()
        data.remove()
    }
}
