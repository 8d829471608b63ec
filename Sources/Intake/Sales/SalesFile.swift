public import Importing
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
}
