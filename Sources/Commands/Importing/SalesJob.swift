import Foundation
public import Importing
public import Intake
public import Job
import Ledger
public import Reconciliation
import Verification

/// What the days that were read come to.
public struct SalesResult: Sendable {
    public let files: [SalesFile]
    /// `nil` if no report could be read.
    public let figures: SalesFigures?
    /// The latest first.
    public let differences: [ComparedSales]
}

/// Reads Apple's sales reports and compares what was sold with what the tables saw. It holds a few thousand lines at a
/// time, and reading a report again changes nothing.
public struct SalesJob: Sendable {
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
            let reading = try await SalesReading(session, apps: settings.apps)
            var read: [SalesFile] = []
            for name in files {
                let file = try await reading.read(name, refused: { try receive(name, $0) }) { () throws(SalesError) in
                    try Self.open(name, stop)
                }
                read.append(file)
            }
            return try await compare(read, session)
        }
    }

    private static func open(_ file: String, _ stop: StopSignal) throws(SalesError) -> FileSource {
        do throws(ImportError) {
            return try FileSource(file) { stop.isRequested }
        } catch {
            throw SalesError(error, file: file)
        }
    }

    private func compare(_ files: [SalesFile], _ session: LedgerSession) async throws(LedgerError) -> SalesResult {
        let days = SalesDays.among(Set(files.flatMap { $0.days.map(\.day) }).sorted())
        var differences: [ComparedSales] = []
        let figures = try await session.salesFigures(of: days)
        try await session.forEachSalesDifference(on: days) { differences.append($0) }
        return SalesResult(files: files, figures: figures, differences: differences)
    }
}
