import Foundation
public import Reconciliation

/// Writes a run's report as its findings come: pages, spreadsheet, CSV, JSON and summary at once, in memory that does
/// not grow with the number of findings.
public final class ReportWriter: FindingsReceiver {
    /// The run that the report is of, once it has begun.
    public private(set) var run: RunReport?
    /// The report's folder, once it is finished.
    public private(set) var location = ""
    /// The text of `summary.txt`, once the report is finished.
    public private(set) var summary = ""
    /// Whether another run's report has the name that this one would have had, once the report is finished.
    public private(set) var isNamesake = false

    private let folder: ReportFolder
    private let language: ReportLanguage
    private let programVersion: String
    private let isWrittenAgain: Bool
    private var writing: Writing?

    private struct Writing {
        let context: ReportContext
        /// The forms that list every case, each written beside the others; the spreadsheet is the last.
        let forms: [PartWriter]
        /// Only counts cases.
        let summary: SummaryFile
        /// Findings that were not passed on yet.
        var page: [Finding] = []
    }

    /// How many findings are passed on together.
    private static let pageSize = 100

    /// Prepares a report in that directory, which is created if it is missing.
    ///
    /// - Parameters:
    ///   - language: the language in which the page opens, and of the spreadsheet.
    ///   - isWrittenAgain: whether the run wrote it before: a later run may have written its own meanwhile.
    /// - Throws: `ReportError.notWritable` if nothing can be written, before any work is done.
    public init(
        directory: String, language: ReportLanguage = .english, programVersion: String, isWrittenAgain: Bool = false
    ) throws(ReportError) {
        folder = try ReportFolder(directory: directory)
        self.language = language
        self.programVersion = programVersion
        self.isWrittenAgain = isWrittenAgain
    }

    deinit {
        stop()
        folder.discard()
    }

    public func begin(_ run: RunReport) throws {
        stop()
        self.run = run
        let context = ReportContext(run: run, folder: folder, language: language, programVersion: programVersion)
        writing = Writing(
            context: context,
            forms: [
                PartWriter(try PageFiles(context)), PartWriter(try CSVFile(context)),
                PartWriter(try JSONFile(context)), PartWriter(try SpreadsheetFile(context)),
            ],
            summary: SummaryFile(context))
    }

    public func add(_ lostOrder: ReportedCase) throws { try add(.lostOrder(lostOrder)) }
    public func add(unusable receipt: TroubledReceipt) throws { try add(.unusable(receipt)) }
    public func add(unverified receipt: TroubledReceipt) throws { try add(.unverified(receipt)) }
    public func add(_ suspicion: Suspicion) throws { try add(.suspicion(suspicion)) }
    public func add(_ difference: ComparedSales) throws { try add(.difference(difference)) }

    private func add(_ finding: Finding) throws {
        try writing?.summary.add(finding)
        writing?.page.append(finding)
        if let count = writing?.page.count, count >= Self.pageSize { try handOn() }
    }

    /// Passes on what came since the last time.
    private func handOn() throws {
        guard let page = writing?.page, !page.isEmpty else { return }
        writing?.page.removeAll()
        for form in writing?.forms ?? [] { try form.add(page) }
    }

    public func finish() throws {
        try handOn()
        guard let writing else { return }
        for form in writing.forms.dropLast() { form.finish() }
        let figures = ReportFigures(writing.context.run)
        try figures.write(to: folder)
        for form in writing.forms.dropLast() { try form.wait() }
        // The room that the spreadsheet finds on the disk must not go to another form meanwhile.
        writing.forms.last?.finish()
        try writing.forms.last?.wait()
        try put(writing, figures)
        try Overview(of: folder.directory, language: language, timeZone: writing.context.run.timeZone)
            .write(to: folder.directory)
        self.writing = nil
    }

    /// Puts the report in its place, which its summary names.
    private func put(_ writing: Writing, _ figures: ReportFigures) throws {
        let turn = folder.turn()
        defer { withExtendedLifetime(turn) {} }
        let name = folder.name(writing.context.name, of: figures)
        isNamesake = name != writing.context.name
        writing.summary.name = name
        try writing.summary.finish()
        location = try folder.publish(as: name, standing: standing(of: writing.context.run))
        summary = writing.summary.text
    }

    /// Stops writing a report that was begun and not finished.
    private func stop() {
        for form in writing?.forms ?? [] { try? form.wait() }
        writing = nil
    }

    private func standing(of run: RunReport) -> ReportFolder.Standing {
        run.isDryRun ? .aside : isWrittenAgain ? .latestUnlessLater : .latest
    }
}
