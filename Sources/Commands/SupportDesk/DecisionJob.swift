import Importing
public import Intake
public import Job
import Ledger
import Reconciliation

/// Which file of decisions is read back, and how.
public struct DecisionOptions: Sendable {
    public var file: String
    /// Who decides.
    public var by: String
    /// The file that is to say what became of each line.
    public var resultFile: String
    /// Whether to do everything and roll it back.
    public var isDryRun: Bool

    public init(file: String, by who: String, resultFile: String, isDryRun: Bool) {
        self.file = file
        by = who
        self.resultFile = resultFile
        self.isDryRun = isDryRun
    }
}

/// Reads back what was decided in a report's spreadsheet. Reading the same file again does nothing.
public struct DecisionJob: Sendable {
    private let settings: JobSettings
    private let form: DecisionForm

    /// - Parameter settings: its database is the one that the support desk may use.
    public init(settings: JobSettings, form: DecisionForm) {
        self.settings = settings
        self.form = form
    }

    /// Reads the file whole, and then carries out its lines until the last, or until it is asked to stop.
    ///
    /// - Parameter others: further files that are read, none of which the results may be written to.
    /// - Throws: `DecisionFileError`, `UnwritableFile`, `JobError`.
    public func run(
        _ options: DecisionOptions, besides others: [String] = [], stop: StopSignal
    ) async throws -> DecisionTally {
        let sheet = try await DecisionSheet.read(options.file, form.vocabulary) { stop.isRequested }
        return try await withLedger(readingFiles: settings.ledger, explained: SupportDesk.explained) { session in
            let results = try DecisionResults(options.resultFile, of: [options.file] + others, form)
            let taking = DecisionTaking(session, stop: stop, isRehearsal: options.isDryRun)
            let name = options.file.split(separator: "/").last.map(String.init) ?? options.file
            return try await taking.take(sheet, by: options.by, from: name, results: results)
        }
    }
}
