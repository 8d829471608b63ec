import Commands
import Foundation
import Job
import Reconciliation

extension CommandRunner {
    /// Removes what need not be kept any longer, and says how much.
    func purge(isDryRun: Bool) async throws -> ExitCode {
        let stop = StopSignal()
        let signals = await Signals(stop)
        defer { withExtendedLifetime(signals) {} }
        let purged = try await RetentionDesk(settings: configuration.settings).purge(isDryRun: isDryRun, stop: stop)
        StandardOutput.write(RetentionText.text(purged, isDryRun: isDryRun))
        guard stop.isRequested else { return .done }
        console.log(LogEntry(.warning, "stopped before all was purged; purge again to take the rest"))
        return .tryLater
    }

    /// Erases a user. Ends with 65 if business is open and that is not allowed, or if the user is unknown.
    func erase(_ erasure: Erasure) async throws -> ExitCode {
        var settings = configuration.settings
        settings.database = configuration.privacyDatabase ?? settings.database
        let outcome = try await RetentionDesk(settings: settings).erase(erasure)
        switch outcome {
        case .unknown:
            console.sayUnchanged("no row names this user")
            return .dataError
        case .open(let open):
            console.sayUnchanged(
                "\(RetentionText.text(open)). First \(RetentionText.advice(open)), or erase the user --even-open: what "
                    + "is open then belongs to nobody who is known.")
            return .dataError
        case .erased(let pseudonym, let apps, let rows, let open):
            StandardOutput.write(
                RetentionText.text(pseudonym: erasure.isDryRun ? nil : pseudonym, apps: apps, rows: rows, open: open))
            if !erasure.isDryRun {
                let reports = configuration.reportDirectory
                // They are reports' spreadsheets.
                let decided = configuration.decisionsDirectory.map { " and \($0)/done" } ?? ""
                let text = "reports that were written before still name the user: see \(reports)\(decided)"
                console.log(LogEntry(.warning, text))
            }
            return .done
        }
    }
}

/// What was removed, in words.
enum RetentionText {
    static func text(_ purged: Purged, isDryRun: Bool) -> String {
        let done = isDryRun ? "would be purged" : "purged"
        let text = "payloads \(done): \(purged.payloads)\ndevices \(done): \(purged.devices)\n"
        return text + (purged.orders == 0 ? "" : "orders \(done): \(purged.orders)\n")
            + (purged.notices == 0 ? "" : "notifications \(done): \(purged.notices)\n")
    }

    /// - Parameter pseudonym: `nil` for a dry run.
    static func text(pseudonym: String?, apps: [String], rows: [ErasureOutcome.Rows], open: OpenBusiness) -> String {
        let user = apps.isEmpty ? "The user" : "The user of \(apps.joined(separator: " and "))"
        let head = pseudonym.map { "\(user) is erased, and called \($0) from now on." } ?? "\(user) would be erased."
        let tables = rows.filter { $0.count > 0 }.map { "  \($0.table): \($0.count)" }
        let tail = open.isEmpty ? [] : ["Still open: \(text(open))."]
        return ([head] + tables + tail).joined(separator: "\n") + "\n"
    }

    private static let listed = 10

    static func text(_ open: OpenBusiness) -> String {
        var parts: [String] = []
        let ids = open.transactionIDs
        if !ids.isEmpty {
            let more = ids.count > listed ? ", and \(ids.count - listed) more" : ""
            let names = ids.prefix(listed).joined(separator: ", ")
            parts.append("\(count(ids.count, "purchase")) paid and not delivered (\(names)\(more))")
        }
        if open.waitingReceipts > 0 { parts.append("\(count(open.waitingReceipts, "receipt")) not verified yet") }
        return parts.joined(separator: ", ")
    }

    /// What settles open business, to follow “first”: a receipt is neither delivered nor resolved.
    static func advice(_ open: OpenBusiness) -> String {
        let ways = [
            open.transactionIDs.isEmpty ? nil : "deliver or resolve what is paid",
            open.waitingReceipts == 0 ? nil : "let a night verify what waits",
        ]
        return ways.compactMap(\.self).joined(separator: " and ")
    }

    private static func count(_ number: Int, _ thing: String) -> String {
        number.counted("\(thing) is", "\(thing)s are")
    }
}
