import Importing
import Job
import Ledger
import Reconciliation

extension Pull {
    /// Pulls what is new in a database of the company's own. A query may take minutes: a stop ends it.
    ///
    /// - Throws: `SourceError`, `LedgerError`.
    func pull(_ query: SourceQuery) async throws {
        let theirs = try await SourceSession.open(query, known: Set(source.kind.fieldsByColumn.keys))
        defer { theirs.close() }
        do {
            try await stop.telling(theirs.giveUp) { try await takeNew(theirs) }
        } catch let error as SourceError {
            throw stop.reason.map { SourceError("it was stopped: \($0)") } ?? error
        }
    }

    private func takeNew(_ theirs: SourceSession) async throws {
        let fields = try rows.fields(inColumns: theirs.columns)
        let progress = try await begin(theirs.definition)
        checkpoint(.sourceOpened)
        let count = try await take(theirs, fields, from: progress.watermark)
        if count == 0, progress.watermark != nil {
            // The row of the watermark is gone: a table that was emptied or restored may count anew.
            _ = try await take(theirs, fields, from: nil)
        }
    }

    /// Takes the rows from a watermark on, and gives how many came.
    private func take(_ theirs: SourceSession, _ fields: [ImportField], from watermark: String?) async throws -> Int {
        var count = 0
        try await theirs.forEachPage(from: watermark, present: rows.present) { page in
            var mark = SourceMark(source: source.name)
            mark.watermark = page.watermark
            let first = count + 1
            count += page.rows.count
            let judged = rows.judge(page.rows, fields, from: first) { "row \(first + $0) of the pull" }
            try await take(judged, mark: mark)
        }
        return count
    }
}
