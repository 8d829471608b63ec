import Reconciliation

/// Writes `summary.txt`.
final class SummaryFile: ReportPart {
    private(set) var text = ""
    /// The name of the report's folder.
    var name: String
    private let context: ReportContext
    private var summary: Summary

    init(_ context: ReportContext) {
        self.context = context
        name = context.name
        summary = Summary(run: context.run, formats: context.formats)
    }

    func add(_ lostOrder: ReportedCase) { summary.add(lostOrder) }
    func add(unusable receipt: TroubledReceipt) { summary.unusable += 1 }
    func add(unverified receipt: TroubledReceipt) { summary.unverified += 1 }
    func add(_ suspicion: Suspicion) { summary.suspicious += 1 }

    func finish() throws {
        text = summary.text(location: "\(context.folder.directory)/\(name)")
        let file = try context.folder.file("summary.txt")
        try file.write(text)
        try file.finish()
    }
}
