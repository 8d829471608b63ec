import Foundation
public import Importing
import Ledger
public import NightlyRun
public import Reconciliation
import Verification

/// What became of one file of a sales report.
public struct SalesFile: Sendable {
    /// What became of the report of one day.
    public struct Day: Hashable, Sendable {
        /// `new`, `replaced`, `unchanged`; `outdated` or `kept` where the earlier report stays.
        public let standing: String
        public let day: CalendarDay
        /// The account, as the report calls it.
        public let developer: String
        public let lines: Int
        public let unitsSold: Int
        public let unitsRefunded: Int
    }

    public let file: String
    /// Why nothing of it was taken.
    public fileprivate(set) var problem: SalesError?
    public fileprivate(set) var days: [Day] = []
    /// Lines that tell of no sale of an in-app purchase: downloads of apps, restored purchases.
    public fileprivate(set) var others = 0
    public fileprivate(set) var refused: [RefusalReason: Int] = [:]
    /// Lines by the SKU of an app that is not known, which is empty where the report says none.
    public fileprivate(set) var unknownApps: [String: Int] = [:]

    /// Lines of in-app purchases of apps that are known.
    public var sales: Int { days.reduce(0) { $0 + $1.lines } }
    public var refusedCount: Int { refused.values.reduce(0, +) }
    public var lines: Int { sales + others + refusedCount + unknownApps.values.reduce(0, +) }
}

/// What the days that were read come to.
public struct SalesResult: Sendable {
    public let files: [SalesFile]
    /// `nil` where no report could be read.
    public let figures: SalesFigures?
    /// The latest first.
    public let differences: [ComparedSales]
}

/// Reads Apple's sales reports and compares what was sold with what the tables saw. It holds a few thousand lines at a
/// time, and reading a report again changes nothing.
public struct SalesJob: Sendable {
    /// Seconds that another who reads a report is waited for: as long as a large one takes.
    private static let patience = 60.0

    private let settings: JobSettings

    public init(settings: JobSettings) {
        self.settings = settings
    }

    /// Reads the files in their order. One that is of no use is named, and the others are read.
    ///
    /// - Parameter refused: gets the lines that are refused, in their order, with their file.
    /// - Throws: `JobError`, `CancellationError` when asked to stop, or what `refused` throws.
    public func run(
        _ files: [String], stop: StopSignal, refused receive: (String, [RefusedLine]) throws -> Void
    ) async throws -> SalesResult {
        try await withLedger(readingFiles: settings.ledger) { session in
            // Many sessions that make their tables at once wait for each other in PostgreSQL's catalogue.
            try await retryingConflicts(for: Self.patience) { () async throws(LedgerError) in
                try await session.prepareSales()
            }
            var read: [SalesFile] = []
            for file in files { read.append(try await self.read(file, session, stop: stop, refused: receive)) }
            return try await compare(read, session)
        }
    }

    private func read(
        _ name: String, _ session: LedgerSession, stop: StopSignal,
        refused receive: (String, [RefusedLine]) throws -> Void
    ) async throws -> SalesFile {
        var file = SalesFile(file: name)
        do {
            let otherDays = try await stage(&file, session, stop: stop, refused: receive)
            let staged = StagedSales(file: name, otherDays: otherDays, refused: file.refusedCount, apps: apps)
            let outcome = try await retryingConflicts(for: Self.patience) { () async throws(LedgerError) in
                try await session.take(staged)
            }
            file.days = outcome.days.map(SalesFile.Day.init)
            file.unknownApps = outcome.unknownApps
        } catch let problem as SalesError {
            try await session.discardStagedSales()
            file.problem = problem
        }
        return file
    }

    /// Hands all lines to the session; gives the days and accounts of those that tell of no sale.
    private func stage(
        _ file: inout SalesFile, _ session: LedgerSession, stop: StopSignal,
        refused receive: (String, [RefusedLine]) throws -> Void
    ) async throws -> Set<SalesDay> {
        let reader = SalesReader(try Self.open(file.file, stop), file: file.file)
        var otherDays: Set<SalesDay> = []
        while let read = try await reader.next() {
            try await session.stage(read.sales)
            file.others += read.others
            otherDays.formUnion(read.otherDays)
            for line in read.refused { file.refused[line.reason, default: 0] += 1 }
            try receive(file.file, read.refused)
        }
        return otherDays
    }

    private static func open(_ file: String, _ stop: StopSignal) throws(SalesError) -> FileSource {
        do throws(ImportError) {
            return try FileSource(file) { stop.isRequested }
        } catch {
            throw SalesError(error, file: file)
        }
    }

    private var apps: [String: BundleID] {
        let named = settings.apps.compactMap { app in app.sku.map { ($0, app.app.bundleID) } }
        return Dictionary(named, uniquingKeysWith: { first, _ in first })
    }

    private func compare(_ files: [SalesFile], _ session: LedgerSession) async throws(LedgerError) -> SalesResult {
        let days = SalesDays.among(Set(files.flatMap { $0.days.map(\.day) }).sorted())
        var differences: [ComparedSales] = []
        let figures = try await session.salesFigures(of: days)
        try await session.forEachSalesDifference(on: days) { differences.append($0) }
        return SalesResult(files: files, figures: figures, differences: differences)
    }
}

extension SalesFile {
    fileprivate init(file: String) {
        self.file = file
    }
}

extension SalesFile.Day {
    fileprivate init(_ outcome: SalesDayOutcome) {
        self.init(
            standing: outcome.standing.rawValue, day: outcome.day.day, developer: outcome.day.developer,
            lines: outcome.lines, unitsSold: outcome.unitsSold, unitsRefunded: outcome.unitsRefunded)
    }
}
