import Importing
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
    /// How many rows came, those that are refused among them.
    private(set) var read = 0
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

    /// If more rows than this, and half of all, are refused, the query is wrong, not the rows.
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
        do {
            try await record(judged.lines, mark)
        } catch {
            guard case .unfit = error, !judged.lines.isEmpty else { throw error }
            mark.refused += try await recordOneByOne(judged.lines)
            try await record([], mark)
        }
        checkpoint(.sourcePageTaken)
    }

    private func record(_ lines: [ImportLine], _ mark: SourceMark) async throws(LedgerError) {
        let batch = ImportBatch(kind: source.kind, lines: lines)
        try await session.retryingImport(source.kind, settings: settings, log: log) { () async throws(LedgerError) in
            _ = try await session.take(batch, mark: mark, now: rows.present)
        }
    }

    /// Takes line after line, and gives those of which PostgreSQL refuses a value: one must hold up neither the others
    /// nor the night.
    private func recordOneByOne(_ lines: [ImportLine]) async throws(LedgerError) -> [RefusedRow] {
        var refused: [RefusedRow] = []
        for line in lines {
            do {
                try await record([line], SourceMark(source: source.name))
            } catch {
                guard case .unfit(let why) = error else { throw error }
                refused.append(RefusedRow(LineProblem(.badValue, why), id: line.name, namedID: line.row.id))
            }
        }
        return refused
    }

    /// Begins a pull; from the beginning if something else was asked before, or for other apps: what an app without a
    /// section told was refused, and comes once it has one.
    func begin(_ asked: String) async throws(LedgerError) -> SourceProgress {
        let apps = rows.apps.map(\.text).sorted().joined(separator: ",")
        return try await session.retryingImport(source.kind, settings: settings, log: log) {
            () async throws(LedgerError) in
            try await session.beginPull(of: source, definition: "\(asked)\n\(apps)", now: rows.present)
        }
    }
}
