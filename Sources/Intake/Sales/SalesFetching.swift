package import Foundation
import Importing
package import Job
package import Ledger
import Reconciliation
package import Verification

/// Fetches Apple's daily sales reports that the tables don't have yet, so that what was sold is compared with what was
/// seen without anybody's help. A report that can't be fetched or read is reported, and the night goes on with the
/// rest.
package struct SalesFetching {
    let access: SalesAccess
    let reports: SalesReports
    let settings: JobSettings
    let stop: StopSignal
    let present: Date
    let log: @Sendable (LogEntry) -> Void

    package init(
        access: SalesAccess, reports: SalesReports, settings: JobSettings, stop: StopSignal, present: Date,
        log: @escaping @Sendable (LogEntry) -> Void
    ) {
        self.access = access
        self.reports = reports
        self.settings = settings
        self.stop = stop
        self.present = present
        self.log = log
    }

    /// Fetches the missing days of the last thirty, the oldest first.
    package func fetch() async throws(LedgerError) -> Int {
        let session = try await LedgerSession.connect(settings.ledger, waiting: settings.patience)
        defer { session.close() }
        let days = try await session.missingSalesDays(
            of: access.vendorNumber, apps: SalesReading.bySKU(settings.apps), now: present)
        guard !days.isEmpty else { return 0 }
        let reading = try await SalesReading(session, apps: settings.apps, patience: settings.patience)
        var fetched = 0
        var troubles = 0
        for day in days where !stop.isRequested && troubles < Self.mostTroubles {
            // The run was asked to stop, and nothing was learnt of the day.
            guard let outcome = await outcome(of: day) else { break }
            let fetch: SalesFetch
            var isHeldUp = false
            do {
                fetch = try await self.fetch(outcome, of: day, reading)
            } catch .conflict(let why) {
                // Whoever keeps the lock of sales reports holds up these, but not the night.
                let holders = try await session.holders(of: .sales)
                fetch = .problem("another session's lock stays in the way: \(why)\(holders.heldBy)")
                isHeldUp = true
            }
            try await session.note(fetch, of: access.vendorNumber, on: day, at: present)
            checkpoint(.salesFetched)
            if let problem = fetch.problem {
                log(LogEntry(.warning, "the sales report of \(day) could not be fetched: \(problem)"))
            }
            if fetch.isFetched { fetched += 1 }
            troubles = outcome.isTrouble ? troubles + 1 : 0
            if case .needsConfiguration = outcome { break }
            if isHeldUp { break }
        }
        return fetched
    }

    /// One day that Apple can't hand out holds up no other. After so many in a row, the others are no better.
    private static let mostTroubles = 3

    private func fetch(
        _ outcome: SalesReports.Outcome, of day: CalendarDay, _ reading: SalesReading
    ) async throws(LedgerError) -> SalesFetch {
        switch outcome {
        case .report(let data): try await take(data, of: day, reading)
        case .notThere: .notThere
        case .problem(let what), .needsConfiguration(let what): .problem(what)
        }
    }

    /// `nil` if the run was asked to stop.
    private func outcome(of day: CalendarDay) async -> SalesReports.Outcome? {
        await stop.cancelling { try? await reports.report(of: day.description) }
    }

    private func take(
        _ report: Data, of day: CalendarDay, _ reading: SalesReading
    ) async throws(LedgerError) -> SalesFetch {
        do {
            // As Apple calls the file.
            let name = "S_D_\(access.vendorNumber)_\(day.description.filter(\.isNumber)).txt.gz"
            let file = try await reading.read(name, of: day, refused: { _ in }) { MemorySource(report) }
            return fetch(of: file)
        } catch let error as LedgerError {
            throw error
        } catch {
            return .problem("\(error)")
        }
    }

    private func fetch(of file: SalesFile) -> SalesFetch {
        if let problem = file.problem { return .problem("\(problem)") }
        for entry in file.unknownAppEntries(.info) { log(entry) }
        if file.days.contains(where: { $0.standing == .kept }) {
            return .problem("\(file.refusedCount) of its lines can't be read, so that the earlier report stays")
        }
        return .fetched(lines: file.lines, refused: file.refusedCount)
    }
}

extension SalesReports.Outcome {
    fileprivate var isTrouble: Bool { if case .problem = self { true } else { false } }
}
