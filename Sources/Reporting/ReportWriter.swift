import Foundation
public import Reconciliation

/// Writes a run's report as its findings come: summary, page, CSV and JSON at once, in memory that does not grow with
/// their number. The lists of the page that come after the cases are kept in files until the cases are through.
public final class ReportWriter: FindingsReceiver {
    /// Where the report lies, once it is finished.
    public private(set) var location = ""
    /// The text of `summary.txt`, once the report is finished.
    public private(set) var summary = ""

    private let folder: ReportFolder
    private let programVersion: String
    private let encoder = JSONReport.encoder()
    private var writing: Writing?

    private struct Writing {
        let page: Page
        var summary: Summary
        let html, csv, json: ReportFile
        /// Which list of `report.json` is open, and how many stand in it.
        var list: List = .cases
        var listed = 0
        var cases = 0
    }

    private enum List: String, CaseIterable {
        case cases, unusable = "unusable_receipts", unverified = "unverified_receipts", suspicious
    }

    /// Prepares a report in that directory, which is made if it is missing.
    ///
    /// - Throws: `ReportError.notWritable` where nothing can be written, before any work is done.
    public init(directory: String, programVersion: String) throws(ReportError) {
        folder = try ReportFolder(directory: directory)
        self.programVersion = programVersion
    }

    deinit { folder.discard() }

    public func begin(_ run: RunReport) throws {
        let formats = Formats(timeZone: run.timeZone)
        let page = Page(run: run, formats: formats)
        let writing = Writing(
            page: page, summary: Summary(run: run, formats: formats), html: try folder.file("index.html"),
            csv: try folder.file("lost-orders.csv"), json: try folder.file("report.json"))
        try writing.html.write(page.head.text)
        try writing.csv.write(CSV.byteOrderMark + CSV.header(formats))
        try writing.json.write(
            "{\"run\":\(try text(JSONReport.Run(run, programVersion)))"
                + ",\"schema_version\":1,\"totals\":\(try text(JSONReport.totals(run.totals))),\"cases\":[")
        self.writing = writing
    }

    public func add(_ lostOrder: ReportedCase) throws {
        try with(.cases) { writing in
            if writing.cases < Page.shownCases { try writing.html.write(writing.page.row(lostOrder).text) }
            writing.cases += 1
            writing.summary.add(lostOrder)
            try writing.csv.write(CSV.row(lostOrder, writing.page.formats, now: writing.page.run.now))
            return try text(JSONReport.Case(lostOrder))
        }
    }

    public func add(unusable receipt: ReceiptNotice) throws {
        try with(.unusable) { writing in
            if writing.summary.unusable < Page.shownReceipts { try writing.html.write(writing.page.row(receipt).text) }
            writing.summary.unusable += 1
            return try text(JSONReport.Receipt(receipt))
        }
    }

    public func add(unverified receipt: ReceiptNotice) throws {
        try with(.unverified) { writing in
            if writing.summary.unverified < Page.shownReceipts {
                try writing.html.write(writing.page.row(receipt).text)
            }
            writing.summary.unverified += 1
            return try text(JSONReport.Receipt(receipt))
        }
    }

    public func add(_ suspicion: Suspicion) throws {
        try with(.suspicious) { writing in
            if writing.summary.suspicious < Page.shownReceipts {
                try writing.html.write(writing.page.row(suspicion).text)
            }
            writing.summary.suspicious += 1
            return try text(JSONReport.Suspicious(suspicion))
        }
    }

    public func finish() throws {
        guard var writing else { return }
        try advance(&writing, to: .suspicious)
        try closeList(&writing)
        try writing.html.write(writing.page.end.text)
        try writing.json.write("]}\n")
        let run = writing.page.run
        let day = writing.page.formats.day(run.now)
        let name = run.runID.map { "\(day)-run-\($0)" } ?? "\(day)-dry-run"
        summary = writing.summary.text(location: "\(folder.directory)/\(name)")
        let summaryFile = try folder.file("summary.txt")
        try summaryFile.write(summary)
        for file in [writing.html, writing.csv, writing.json, summaryFile] { try file.finish() }
        location = try folder.publish(as: name, isLatest: !run.isDryRun)
        self.writing = nil
    }

    private func text(_ value: some Encodable) throws -> String {
        String(decoding: try encoder.encode(value), as: UTF8.self)
    }

    /// Adds one finding to a list: the body writes what the page shows of it, and gives its JSON.
    private func with(_ list: List, _ body: (inout Writing) throws -> String) throws {
        guard var writing else { return }
        self.writing = nil
        defer { self.writing = writing }
        try advance(&writing, to: list)
        if list != .cases, writing.listed == 0 { try openTable(writing, list) }
        let json = try body(&writing)
        try writing.json.write((writing.listed > 0 ? ",\n" : "\n") + json)
        writing.listed += 1
    }

    private func advance(_ writing: inout Writing, to list: List) throws {
        let order = List.allCases
        while writing.list != list, let index = order.firstIndex(of: writing.list), index + 1 < order.count {
            try closeList(&writing)
            writing.list = order[index + 1]
            writing.listed = 0
            try writing.json.write("],\"\(writing.list.rawValue)\":[")
            try writing.html.write(Self.heading(of: writing.list).text)
        }
    }

    private func closeList(_ writing: inout Writing) throws {
        let hasTable = writing.list == .cases ? writing.page.run.cases.total > 0 : writing.listed > 0
        try writing.html.write(hasTable ? Page.tableEnd.text : writing.list == .cases ? "" : "<p>None.</p>\n")
    }

    private func openTable(_ writing: Writing, _ list: List) throws {
        let columns = list == .suspicious ? Page.suspicionColumns : Page.receiptColumns
        try writing.html.write(Page.tableHead("The latest first.", columns).text)
    }

    private static func heading(of list: List) -> HTML {
        switch list {
        case .cases: ""
        case .unusable: "<h2>Receipts that could not be used</h2>\n"
        case .unverified: "<h2>Receipts still not verified</h2>\n"
        case .suspicious: "<h2>Suspicious</h2>\n"
        }
    }
}

extension JSONReport.Run {
    fileprivate init(_ run: RunReport, _ programVersion: String) {
        var (outcome, reason): (String, String?) = ("complete", nil)
        if case .endedEarly(let why) = run.outcome { (outcome, reason) = ("ended_early", why) }
        let receipts = run.receipts
        self.init(
            runID: run.runID, dryRun: run.isDryRun, startedAt: run.startedAt, finishedAt: run.finishedAt,
            now: run.now, timeZone: run.timeZone.identifier, programVersion: programVersion, outcome: outcome,
            reason: reason,
            receipts: [
                "due": receipts.due, "verified": receipts.verified, "try_again": receipts.tryAgain,
                "unusable": receipts.unusable, "left": receipts.left,
            ],
            stages: run.stages.map { JSONReport.Stage(name: $0.name, seconds: $0.seconds, items: $0.items) })
    }
}

extension JSONReport {
    fileprivate static func totals(_ totals: ControlTotals) -> [String: Total] {
        [
            "verified": Total(totals.verified), "newlyWhite": Total(totals.newlyWhite),
            "alreadyWhite": Total(totals.alreadyWhite), "alreadyBlack": Total(totals.alreadyBlack),
            "excluded": Total(totals.excluded), "openingWhite": Total(totals.openingWhite), "new": Total(totals.new),
            "claimed": Total(totals.claimed), "resolved": Total(totals.resolved),
            "refunded": Total(totals.refunded), "closingWhite": Total(totals.closingWhite),
        ]
    }
}
