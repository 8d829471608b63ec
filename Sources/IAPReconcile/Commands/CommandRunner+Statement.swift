import Commands
import Foundation
import Reconciliation
import Reporting

extension CommandRunner {
    /// Prints finance's statement for a month.
    func statement(_ options: StatementOptions) async throws -> ExitCode {
        let statement = try await StatementDesk(settings: configuration.settings).statement(
            of: options.first, asOf: options.asOf, app: options.app)
        switch options.format {
        case .csv: StandardOutput.write(StatementText.csv(statement))
        case .json: StandardOutput.write(try StatementText.json(statement))
        case .xlsx: try printSpreadsheet(of: statement)
        }
        return .done
    }

    /// Writes it to a temporary file first, as a spreadsheet is not written from start to end.
    private func printSpreadsheet(of statement: Statement) throws {
        let file = FileManager.default.temporaryDirectory.appending(path: "iap-reconcile-\(UUID().uuidString).xlsx")
        defer { try? FileManager.default.removeItem(at: file) }
        try StatementText.writeSpreadsheet(statement, to: file.path(percentEncoded: false))
        StandardOutput.write(try Data(contentsOf: file))
    }
}

/// The month of a statement, and its format.
struct StatementOptions: Sendable {
    /// The first day of the month.
    var first: CalendarDay
    var asOf: CalendarDay?
    var app: BundleID?
    var format: StatementFormat
}

enum StatementFormat: String, Sendable, CaseIterable {
    case csv, xlsx, json
}
