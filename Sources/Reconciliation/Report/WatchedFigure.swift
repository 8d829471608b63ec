public import Foundation

/// The values from which on figures of an app are reported first. A figure without one is not watched.
public struct Thresholds: Hashable, Sendable {
    /// Units that Apple sold in the last thirty days of its sales reports, and the tables never saw.
    public var unitsMissing: Int?
    /// The share (0…1) of the purchases of thirty days that are open cases.
    public var shareLost: Double?
    /// What was paid for the open cases, in the currency of the amount.
    public var moneyLost: Money?
    /// Seconds since the purchase of the oldest open case.
    public var oldestCase: TimeInterval?
    /// Redeliveries that the app's server took and did not claim within their lease, or did not take for a day.
    public var redeliveriesFailing: Int?
    /// Whether it is reported first if purchases are delivered and Apple tells of none.
    public var drySpell = true

    public init() {}
}

/// What is watched of one app.
public struct AppFigures: Hashable, Sendable {
    public let bundleID: BundleID
    public var unitsMissing = 0
    /// Purchases of thirty days that are owed or delivered.
    public var purchases = 0
    /// Those of them that are open cases.
    public var lost = 0
    /// What was paid for the open cases, by currency.
    public var money: [Money] = []
    public var oldestCase: Date?
    public var redeliveriesFailing = 0

    public init(bundleID: BundleID) {
        self.bundleID = bundleID
    }
}

/// A figure of an app beside its threshold.
public struct WatchedFigure: Hashable, Sendable {
    /// The figure and its threshold.
    public enum Value: Hashable, Sendable {
        case unitsMissing(Int, threshold: Int)
        case shareLost(lost: Int, purchases: Int, threshold: Double)
        case moneyLost(Money, threshold: Money)
        /// Seconds.
        case oldestCase(TimeInterval, threshold: TimeInterval)
        case redeliveriesFailing(Int, threshold: Int)
        /// When Apple's latest notification was signed, if one ever was, and how many purchases were delivered since.
        case drySpell(since: Date?, delivered: Int, isOne: Bool)
    }

    public let bundleID: BundleID
    public let value: Value

    /// The name by which programs know it.
    public var name: String {
        switch value {
        case .unitsMissing: "units_missing"
        case .shareLost: "share_lost"
        case .moneyLost: "money_lost"
        case .oldestCase: "oldest_case"
        case .redeliveriesFailing: "redeliveries_failing"
        case .drySpell: "dry_spell"
        }
    }

    /// Whether the figure has reached its threshold.
    public var isAlert: Bool {
        switch value {
        case .unitsMissing(let units, let threshold): units >= threshold
        case .shareLost(let lost, let purchases, let threshold):
            // The quotient is rounded as the setting was; a product need not be.
            lost > 0 && (purchases == 0 || Double(lost) / Double(purchases) >= threshold)
        case .moneyLost(let money, let threshold): money.milliunits >= threshold.milliunits
        case .oldestCase(let age, let threshold): age > 0 && age >= threshold
        case .redeliveriesFailing(let count, let threshold): count >= threshold
        case .drySpell(_, _, let isOne): isOne
        }
    }
}

extension WatchedFigure {
    /// The watched figures of an app at a moment.
    public static func all(
        of app: App, _ figures: AppFigures, hearing: HearingFigures?, now: Date
    ) -> [WatchedFigure] {
        let thresholds = app.thresholds
        var values: [Value] = []
        if let threshold = thresholds.unitsMissing {
            values.append(.unitsMissing(figures.unitsMissing, threshold: threshold))
        }
        if let threshold = thresholds.shareLost {
            values.append(.shareLost(lost: figures.lost, purchases: figures.purchases, threshold: threshold))
        }
        if let threshold = thresholds.moneyLost {
            let sum = figures.money.first { $0.currency == threshold.currency }
            values.append(
                .moneyLost(sum ?? Money(milliunits: 0, currency: threshold.currency), threshold: threshold))
        }
        if let threshold = thresholds.oldestCase {
            values.append(
                .oldestCase(figures.oldestCase.map { now.timeIntervalSince($0) } ?? 0, threshold: threshold))
        }
        if let threshold = thresholds.redeliveriesFailing {
            values.append(.redeliveriesFailing(figures.redeliveriesFailing, threshold: threshold))
        }
        if thresholds.drySpell, let hearing {
            values.append(
                .drySpell(
                    since: hearing.lastSignedAt, delivered: hearing.deliveredSince,
                    isOne: hearing.isDrySpell(at: now)))
        }
        return values.map { WatchedFigure(bundleID: app.bundleID, value: $0) }
    }
}
