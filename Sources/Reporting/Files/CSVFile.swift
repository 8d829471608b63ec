import Reconciliation

/// Writes `lost-orders.csv`.
final class CSVFile: ReportPart {
    private let context: ReportContext
    private let formats: Formats
    private let words: any Wording
    private let file: ReportFile

    init(_ context: ReportContext) throws {
        self.context = context
        formats = context.formats
        words = context.language.wording
        file = try context.folder.file("lost-orders.csv")
        try file.write(CSV.byteOrderMark + CSV.header(formats))
    }

    func add(_ lostOrder: ReportedCase) throws {
        try file.write(CSV.row(lostOrder, formats, words, now: context.run.now))
    }

    func finish() throws { try file.finish() }
}
