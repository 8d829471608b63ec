public import Reconciliation

/// A sales report that was staged whole, and what else is known of it.
public struct StagedSales: Sendable {
    public var file: String
    /// The days and accounts of its lines that tell of no sale of an in-app purchase: it speaks for them too.
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

/// What became of the report of one day.
public struct SalesDayOutcome: Hashable, Sendable {
    public enum Standing: String, Hashable, Sendable {
        /// The first of its day.
        case new
        /// It took the place of an earlier one, which said otherwise.
        case replaced
        /// The earlier one says the same.
        case unchanged
        /// It says what one said that was corrected since: the correction stays.
        case outdated
        /// The earlier one stays: this one says otherwise, and some of its lines were refused.
        case kept
    }

    public let day: SalesDay
    public let standing: Standing
    /// Lines of in-app purchases of apps that are known.
    public let lines: Int
    public let unitsSold: Int
    public let unitsRefunded: Int
}

/// What became of a sales report.
public struct SalesOutcome: Hashable, Sendable {
    /// In their order.
    public let days: [SalesDayOutcome]
    /// Lines by the SKU of an app that is not known; the SKU is empty where the report says none.
    public let unknownApps: [String: Int]
}
