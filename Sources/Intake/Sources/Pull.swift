import Job
import Ledger
import Reconciliation

/// One pull of one source.
package final class Pull {
    let source: SourceSettings
    let settings: JobSettings
    let session: LedgerSession
    let stop: StopSignal
    let log: @Sendable (LogEntry) -> Void
    let rows: SourceRows
    private var read = 0
    private var refused = 0

    init(
        source: SourceSettings, settings: JobSettings, session: LedgerSession, stop: StopSignal,
        log: @escaping @Sendable (LogEntry) -> Void, rows: SourceRows
    ) {
        self.source = source
        self.settings = settings
        self.session = session
        self.stop = stop
        self.log = log
        self.rows = rows
    }

    /// Beyond so many refused rows, and half of all, the query is wrong, not the rows.
    private static let mostRefused = 1_000

    /// Takes a page in one transaction with its mark.
    func take(_ judged: SourceRows.Judged, mark: SourceMark) async throws {
        if let why = stop.reason { throw SourceError("it was stopped: \(why)") }
        read += judged.lines.count + judged.refused.count
        refused += judged.refused.count
        guard refused <= Self.mostRefused || refused * 2 <= read else {
            let example = judged.refused.first.map { ", such as \($0.id): \($0.text)" } ?? ""
            throw SourceError("\(refused) of its \(read) rows can't be taken\(example)")
        }
        var mark = mark
        mark.refused = judged.refused
        let batch = ImportBatch(kind: source.kind, lines: judged.lines)
        try await session.retryingImport(source.kind, settings: settings, log: log) { () async throws(LedgerError) in
            _ = try await session.take(batch, mark: mark, now: rows.present)
        }
        checkpoint(.sourcePageTaken)
    }

    func begin(_ definition: String) async throws(LedgerError) -> SourceProgress {
        try await session.retryingImport(source.kind, settings: settings, log: log) { () async throws(LedgerError) in
            try await session.beginPull(of: source, definition: definition, now: rows.present)
        }
    }
}
