public import Importing
package import Job
public import Reconciliation

/// What became of one file of a sales report.
public struct SalesFile: Sendable {
    public let file: String
    /// Why nothing of it was taken.
    public internal(set) var problem: SalesError?
    public internal(set) var days: [SalesDayOutcome] = []
    /// Lines that tell of no sale of an in-app purchase: downloads of apps, restored purchases.
    public internal(set) var others = 0
    public internal(set) var refused: [RefusalReason: Int] = [:]
    /// Lines by the SKU of an app that is not known; it is empty if the report says none.
    public internal(set) var unknownApps: [String: Int] = [:]

    init(file: String) {
        self.file = file
    }

    /// Lines of in-app purchases of apps that are known.
    public var sales: Int { days.reduce(0) { $0 + $1.lines } }
    public var refusedCount: Int { refused.values.reduce(0, +) }
    public var lines: Int { sales + others + refusedCount + unknownApps.values.reduce(0, +) }

    /// What to log of the lines of apps that are not known, an entry for each SKU.
    package func unknownAppEntries(_ level: LogEntry.Level) -> [LogEntry] {
        let text = "lines of an app that is not known; if it is yours, name its SKU with “sku” in [app BUNDLE]"
        return unknownApps.sorted { $0.key < $1.key }.map { sku, lines in
            LogEntry(level, text, fields: ["file": file, "sku": sku, "lines": String(lines)])
        }
    }
}
