import Ledger
import Reconciliation

extension Pull {
    /// Pulls what is new in a database of the company's own.
    ///
    /// - Throws: `SourceError`, `LedgerError`.
    func pull(_ query: SourceQuery) async throws {
        let theirs = try await SourceSession.open(query, known: Set(source.kind.fieldsByColumn.keys))
        defer { theirs.close() }
        let fields = try rows.fields(inColumns: theirs.columns)
        let progress = try await begin(theirs.definition)
        checkpoint(.sourceOpened)
        var number = 1
        try await theirs.forEachPage(from: progress.watermark, present: rows.present) { page in
            var mark = SourceMark(source: source.name)
            mark.watermark = page.watermark
            let first = number
            number += page.rows.count
            let judged = rows.judge(page.rows, fields, from: first) { "row \(first + $0) of the pull" }
            try await take(judged, mark: mark)
        }
    }
}
