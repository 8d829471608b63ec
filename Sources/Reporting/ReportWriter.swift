import Foundation
public import Reconciliation

/// Writes a run's report as its findings come: pages, spreadsheet, CSV, JSON and summary at once, in memory that does
/// not grow with their number.
public final class ReportWriter: FindingsReceiver {
    /// The run that the report is of, once it has begun.
    public private(set) var run: RunReport?
    /// Where the report lies, once it is finished.
    public private(set) var location = ""
    /// The text of `summary.txt`, once the report is finished.
    public private(set) var summary = ""

    private let folder: ReportFolder
    private let language: ReportLanguage
    private let programVersion: String
    private let isWrittenAgain: Bool
    private var writing: Writing?

    private struct Writing {
        let context: ReportContext
        let summary: SummaryFile
        let parts: [any ReportPart]
    }

    /// Prepares a report in that directory, which is made if it is missing.
    ///
    /// - Parameters:
    ///   - language: in which the page opens, and in which the spreadsheet is written.
    ///   - isWrittenAgain: for a run that wrote it before: a later one may have written its own meanwhile.
    /// - Throws: `ReportError.notWritable` where nothing can be written, before any work is done.
    public init(
        directory: String, language: ReportLanguage = .english, programVersion: String, isWrittenAgain: Bool = false
    ) throws(ReportError) {
        folder = try ReportFolder(directory: directory)
        self.language = language
        self.programVersion = programVersion
        self.isWrittenAgain = isWrittenAgain
    }

    deinit { folder.discard() }

    public func begin(_ run: RunReport) throws {
        self.run = run
        let context = ReportContext(run: run, folder: folder, language: language, programVersion: programVersion)
        let summary = SummaryFile(context)
        writing = Writing(
            context: context, summary: summary,
            parts: [
                try PageFiles(context), try SpreadsheetFile(context), try CSVFile(context), try JSONFile(context),
                FiguresFile(context), summary,
            ])
    }

    public func add(_ lostOrder: ReportedCase) throws {
        for part in parts { try part.add(lostOrder) }
    }

    public func add(unusable receipt: ReceiptNotice) throws {
        for part in parts { try part.add(unusable: receipt) }
    }

    public func add(unverified receipt: ReceiptNotice) throws {
        for part in parts { try part.add(unverified: receipt) }
    }

    public func add(_ suspicion: Suspicion) throws {
        for part in parts { try part.add(suspicion) }
    }

    public func add(_ difference: ComparedSales) throws {
        for part in parts { try part.add(difference) }
    }

    public func finish() throws {
        guard let writing else { return }
        for part in writing.parts { try part.finish() }
        location = try folder.publish(as: writing.context.name, standing: standing(of: writing.context.run))
        summary = writing.summary.text
        try Overview(of: folder.directory, language: language, timeZone: writing.context.run.timeZone)
            .write(to: folder.directory)
        self.writing = nil
    }

    private func standing(of run: RunReport) -> ReportFolder.Standing {
        run.isDryRun ? .aside : isWrittenAgain ? .latestUnlessLater : .latest
    }

    private var parts: [any ReportPart] { writing?.parts ?? [] }
}
