public import Reconciliation

/// A sales report that was staged whole, and what else is known of it.
public struct StagedSales: Sendable {
    public var file: String
    /// The days and accounts of its lines that tell of no sale of an in-app purchase: the report speaks for them, too.
    public var otherDays: Set<SalesDay>
    /// How many of its lines were refused.
    public var refused: Int
    /// The apps by the SKUs that the configuration says they have.
    public var apps: [String: BundleID]

    public init(file: String, otherDays: Set<SalesDay>, refused: Int, apps: [String: BundleID]) {
        self.file = file
        self.otherDays = otherDays
        self.refused = refused
        self.apps = apps
    }
}

/// What became of a sales report.
public struct SalesOutcome: Hashable, Sendable {
    /// In their order.
    public let days: [SalesDayOutcome]
    /// Lines by the SKU of an app that is not known; the SKU is empty if the report says none.
    public let unknownApps: [String: Int]
}
