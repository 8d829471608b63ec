import Commands
import Foundation
import Importing
import Job
import Reconciliation

extension CommandRunner {
    /// Imports a file of a company's own history, and says what became of its lines.
    func importFile(_ options: ImportOptions, refusedFile: String?) async throws -> ExitCode {
        let stop = StopSignal()
        let signals = await Signals(stop)
        var refused = try RefusedLines(
            file: refusedFile, inputs: [options.file, invocation.configuration], log: console.log)
        let job = ImportJob(settings: configuration.settings, log: console.log, progress: console.show)
        defer { withExtendedLifetime(signals) { console.clear() } }
        let summary = try await job.run(options, stop: stop) { try refused.take($0) }
        console.clear()
        try refused.finish()
        StandardOutput.write(ImportText.summary(summary, of: options))
        if let flaw = summary.flaw {
            console.log(LogEntry(.error, "\(ImportText.text(flaw)); only the \(summary.lines) lines before were read"))
            return .dataError
        }
        guard summary.isComplete else {
            console.log(LogEntry(.warning, "stopped before the file's end; import it again to take the rest"))
            return .tryLater
        }
        return summary.refusedCount == 0 ? .done : .dataError
    }
}

/// The result of an import, in words.
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
        return "\(options.kind.rawValue) from \(options.file)\n" + table.joined() + apps(summary)
    }

    /// Which apps the lines are of, which shows a bundle id that is written differently.
    private static func apps(_ summary: ImportSummary) -> String {
        let apps = summary.linesByApp.sorted { ($1.value, $0.key) < ($0.value, $1.key) }
        guard !apps.isEmpty else { return "" }
        let named = apps.prefix(10).map { "\($0.key) \($0.value)" }
        return "apps: \(named.joined(separator: ", "))\(apps.count > named.count ? ", …" : "")\n"
    }

    /// Why a file can't be imported, and what to do; for an unknown column, the one that was meant.
    static func text(_ error: ImportError) -> String {
        guard case .badColumns(let file, .unknownColumn(let column, let kind, let known)) = error else {
            return error.description
        }
        let name = String(column.prefix(100))
        let suggestion = NearestName.suggestion(for: name, in: known)
        return suggestion.isEmpty
            ? error.description : "\(file): \(kind.rawValue) have no column “\(name)”\(suggestion)"
    }
}
