import Foundation
public import Importing
public import Job
import Ledger
import Reconciliation
import Verification

/// Takes over a company's own history, a file at a time. It holds a few thousand lines at a time, however long the file
/// is, and takes each line once, however often it is run: after a crash the same file is simply imported again.
public struct ImportJob: Sendable {
    private let settings: JobSettings
    private let ledger: LedgerSettings
    /// The apps that the configuration knows; empty if it is one for imports alone.
    private let apps: Set<BundleID>
    private let log: @Sendable (LogEntry) -> Void
    private let progress: @Sendable (RunProgress) -> Void

    public init(
        settings: JobSettings, log: @escaping @Sendable (LogEntry) -> Void,
        progress: @escaping @Sendable (RunProgress) -> Void
    ) {
        self.settings = settings
        ledger = LedgerSettings(
            database: settings.importDatabase ?? settings.database, statementTimeout: settings.statementTimeout)
        apps = Set(settings.apps.map(\.app.bundleID))
        self.log = log
        self.progress = progress
    }

    /// Imports the file, until its end or until it is asked to stop. If the database goes away for good, or a lock or
    /// the time limit of a statement stays in the way, once lines were taken, that is logged and ends it likewise. So
    /// does a file of which the rest can't be imported, which the summary says.
    ///
    /// - Parameter receive: gets the refused lines, in their order, once what stands beside them is committed.
    /// - Throws: `ImportError` if nothing of the file can be imported, `JobError`, or what `receive` throws.
    public func run(
        _ options: ImportOptions, stop: StopSignal, refused receive: ([RefusedLine]) throws -> Void
    ) async throws -> ImportSummary {
        let source = try FileSource(options.file) { stop.isRequested }
        let size = source.size
        let reader = ImportReader(source, kind: options.kind, file: options.file, format: options.format)
        var summary = ImportSummary()
        do {
            // What can't be read at all is said before the database is asked for anything.
            var lines = try await reader.next()
            let session = try await connect(options.kind)
            defer { session.close() }
            let present = try await session.present()
            do {
                while let read = lines, !stop.isRequested {
                    async let following = reader.next()
                    let refused = try await take(read, options, session, at: present, &summary)
                    try receive(refused)
                    show(read.position, of: size)
                    lines = try await following
                }
            } catch let error as LedgerError where summary.lines > 0 && JobError(interruptedBy: error) != nil {
                log(LogEntry(.error, JobError(error, workingAs: .imports).description))
                // The database may be gone for good: then the lines are there, and only the audit trail lacks the file.
                try? await note(summary, options, session)
                return summary
            } catch let error as ImportError where summary.lines > 0 {
                summary.flaw = error
                try await note(summary, options, session)
                return summary
            }
            let isStopped = await reader.isStopped
            summary.isComplete = lines == nil && !isStopped
            try await note(summary, options, session)
        } catch let error as LedgerError {
            throw JobError(error, workingAs: .imports)
        }
        return summary
    }

    private func connect(_ kind: ImportKind) async throws(LedgerError) -> LedgerSession {
        let session = try await LedgerSession.connectToCurrentSchema(ledger)
        try await retryingConflicts { () async throws(LedgerError) in try await session.prepareImport(of: kind) }
        return session
    }

    /// Gives the lines that are refused, by the reader or the ledger.
    private func take(
        _ read: ReadLines, _ options: ImportOptions, _ session: LedgerSession, at present: Date,
        _ summary: inout ImportSummary
    ) async throws(LedgerError) -> [RefusedLine] {
        let (taken, lying) = judged(read.batch, at: present)
        let outcome = try await take(taken, options, session)
        summary.count(taken.lines)
        let contradicted = taken.lines.compactMap { line in
            outcome.contradicted[line.number].map { RefusedLine(contradicting: line, $0) }
        }
        let refused = read.refused + lying + contradicted
        summary.taken += outcome.taken
        summary.alreadyThere += outcome.alreadyThere
        for line in refused { summary.refused[line.reason, default: 0] += 1 }
        return refused.sorted { $0.line < $1.line }
    }

    /// The lines that can be taken, and a refusal for each other: lines of apps that the configuration does not know,
    /// and lines of what is yet to happen, at which no night would look before.
    private func judged(
        _ batch: ImportBatch, at present: Date
    ) -> (taken: ImportBatch, refused: [RefusedLine]) {
        var taken: [ImportLine] = []
        var refused: [RefusedLine] = []
        for line in batch.lines {
            if !apps.isEmpty, !apps.contains(line.row.bundleID) {
                refused.append(RefusedLine(line, LineProblem(unknownApp: line.row.bundleID)))
            } else if let problem = line.row.liesAhead(of: present) {
                refused.append(RefusedLine(line, problem))
            } else {
                taken.append(line)
            }
        }
        return (ImportBatch(kind: batch.kind, lines: taken), refused)
    }

    private func take(
        _ batch: ImportBatch, _ options: ImportOptions, _ session: LedgerSession
    ) async throws(LedgerError) -> ImportOutcome {
        try await session.retryingImport(batch.kind, settings: settings, log: log) { () async throws(LedgerError) in
            try await session.take(batch, isRehearsal: options.isDryRun)
        }
    }

    private func note(
        _ summary: ImportSummary, _ options: ImportOptions, _ session: LedgerSession
    ) async throws(LedgerError) {
        guard !options.isDryRun, summary.taken > 0 else { return }
        try await session.noteImport(
            of: options.kind, file: options.file, taken: summary.taken, refused: summary.refusedCount)
    }

    private func show(_ position: Int, of size: Int?) {
        guard let size else { return }
        progress(RunProgress(stage: "import", done: position, total: max(position, size)))
    }
}

extension RefusedLine {
    fileprivate init(_ line: ImportLine, _ problem: LineProblem) {
        self.init(line: line.number, reason: problem.reason, id: line.row.id, text: problem.text)
    }

    fileprivate init(contradicting line: ImportLine, _ contradiction: Contradiction) {
        self.init(line: line.number, reason: .contradiction, id: line.row.id, text: contradiction.text)
    }
}
