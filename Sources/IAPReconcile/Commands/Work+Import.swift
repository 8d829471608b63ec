import Foundation
import NightlyRun
import Reconciliation

extension Work {
    /// Takes over a file of a company's own history, and says what became of its lines.
    func importFile(_ options: ImportOptions, refusedFile: String?) async throws -> ExitCode {
        let stop = StopSignal()
        let signals = Signals(stop)
        var refused = try RefusedLines(file: refusedFile, log: console.log)
        let job = ImportJob(settings: configuration.settings, log: console.log, progress: console.show)
        defer { withExtendedLifetime(signals) { console.clear() } }
        let summary = try await job.run(options, stop: stop) { try refused.take($0) }
        console.clear()
        refused.finish()
        StandardOutput.write(ImportText.summary(summary, of: options))
        guard summary.isComplete else {
            console.log(LogEntry(.warning, "stopped before the file's end; import it again to take the rest"))
            return .tryLater
        }
        return summary.refusedCount == 0 ? .done : .dataError
    }
}

/// What an import came to, in words.
enum ImportText {
    static func summary(_ summary: ImportSummary, of options: ImportOptions) -> String {
        var rows = [
            (options.isDryRun ? "would be taken" : "taken", summary.taken),
            ("already there", summary.alreadyThere), ("refused", summary.refusedCount),
        ]
        rows += RefusalReason.allCases.compactMap { reason in
            summary.refused[reason].map { ("  \(reason.rawValue)", $0) }
        }
        rows.append(("lines", summary.lines))
        let figures = rows.map { row in "\(row.1)" }
        let width = (figures.map(\.count).max() ?? 0, rows.map(\.0.count).max() ?? 0)
        let table = zip(rows, figures).map { row, figure in
            row.0.padding(toLength: width.1, withPad: " ", startingAt: 0) + "  "
                + String(repeating: " ", count: width.0 - figure.count) + figure + "\n"
        }
        return "\(options.kind.rawValue) from \(options.file)\n" + table.joined()
    }

    /// Why a file can't be imported, and what to do.
    static func text(_ error: ImportError) -> String {
        switch error {
        case .unreadable(let file, let why): "\(file) can't be read: \(why)"
        case .noHeader(let file): "\(file) is empty: a CSV file begins with a header that names its columns"
        case .badHeader(let file, let why): "the header of \(file) \(why)"
        case .unknownColumn(let name, let kind, let known):
            "\(kind.rawValue) have no column “\(name.prefix(100))”\(meant(by: name, among: known))"
        case .repeatedColumn(let name): "the header names the column “\(name)” twice"
        case .missingColumns(let names, let kind):
            "\(kind.rawValue) need the column\(names.count == 1 ? "" : "s") \(names.joined(separator: ", "))"
        }
    }

    private static func meant(by name: String, among known: [String]) -> String {
        let suggestion = NearestName.suggestion(for: String(name.prefix(100)), in: known)
        return suggestion.isEmpty ? "; they may have \(known.joined(separator: ", "))" : suggestion
    }
}
