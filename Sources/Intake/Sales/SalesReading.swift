package import Foundation
package import Importing
import Job
package import Ledger
package import Reconciliation
package import Verification

/// Reads sales reports into the ledger, each as a whole: for the command `sales`, and for the night, which fetched them
/// from Apple.
package struct SalesReading {
    /// The most bytes of a report that was fetched, decompressed: half a million lines. An answer of a few megabytes
    /// may hold a thousand times as much, and the night waits for it.
    private static let mostFetched = 128 << 20

    private let session: LedgerSession
    private let apps: [String: BundleID]
    private let patience: TimeInterval

    /// Makes the session ready.
    ///
    /// - Parameter patience: seconds for which another reader of a report is waited for: as long as a large one takes.
    package init(
        _ session: LedgerSession, apps: [AppSettings], patience: TimeInterval = 60
    ) async throws(LedgerError) {
        self.apps = Self.bySKU(apps)
        self.session = session
        self.patience = patience
        // Many sessions that make their tables at once wait for each other in PostgreSQL's catalogue.
        try await retryingConflicts(for: patience) { () async throws(LedgerError) in
            try await session.prepareSales()
        }
    }

    /// The apps by the SKUs that the configuration says they have.
    static func bySKU(_ apps: [AppSettings]) -> [String: BundleID] {
        let named = apps.compactMap { app in app.sku.map { ($0, app.app.bundleID) } }
        return Dictionary(named, uniquingKeysWith: { first, _ in first })
    }

    /// Reads one report. If it is of no use, nothing of it is taken, and the file says why.
    ///
    /// - Parameters:
    ///   - day: the only one that the report may tell of, if it was asked for by its day.
    ///   - refused: gets the lines that are refused, in their order.
    /// - Throws: `LedgerError`, `CancellationError` when asked to stop, or what `refused` throws.
    package func read(
        _ name: String, of day: CalendarDay? = nil, refused receive: ([RefusedLine]) throws -> Void,
        opening source: () throws(SalesError) -> sending any ByteSource
    ) async throws -> SalesFile {
        var file = SalesFile(file: name)
        do {
            let otherDays = try await stage(
                &file, from: SalesReader(try source(), file: name, mostBytes: day == nil ? .max : Self.mostFetched),
                of: day, refused: receive)
            let staged = StagedSales(file: name, otherDays: otherDays, refused: file.refusedCount, apps: apps)
            let outcome = try await retryingConflicts(for: patience) { () async throws(LedgerError) in
                try await session.take(staged)
            }
            file.days = outcome.days
            file.unknownApps = outcome.unknownApps
        } catch let problem as SalesError {
            try await session.discardStagedSales()
            file.problem = problem
        }
        return file
    }

    /// Hands all lines to the session; gives the days and accounts of those that tell of no sale.
    private func stage(
        _ file: inout SalesFile, from reader: SalesReader, of day: CalendarDay?,
        refused receive: ([RefusedLine]) throws -> Void
    ) async throws -> Set<SalesDay> {
        var otherDays: Set<SalesDay> = []
        while let read = try await reader.next() {
            let days = read.sales.map(\.day) + read.otherDays.map(\.day)
            if let day, let other = days.first(where: { $0 != day }) {
                throw SalesError.ofAnotherDay(file: file.file, asked: day, day: other)
            }
            try await session.stage(read.sales)
            file.others += read.others
            otherDays.formUnion(read.otherDays)
            for line in read.refused { file.refused[line.reason, default: 0] += 1 }
            try receive(read.refused)
        }
        return otherDays
    }
}
