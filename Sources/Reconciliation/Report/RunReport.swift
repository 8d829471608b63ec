public import Foundation

/// What a report says of its run before the lists: everything that stands at the head of the page.
public struct RunReport: Hashable, Sendable {
    /// `nil` for a dry run, which leaves no trace.
    public var runID: Int64?
    public var isDryRun: Bool { runID == nil }
    public var startedAt: Date
    public var finishedAt: Date
    /// The moment that the run took for the present (`--now`, otherwise when it started). Ages count from here.
    public var now: Date
    /// The zone in which support staff read times, beside UTC.
    public var timeZone: TimeZone
    public var outcome: RunOutcome
    public var receipts: ReceiptCounts
    public var totals: ControlTotals
    public var cases = CaseCounts()
    /// White transactions that are still within their grace: no cases.
    public var pending = 0
    /// Seconds and items of each stage, in the order of the flow.
    public var stages: [StageTime] = []
    /// The last runs up to this one, the oldest first.
    public var history: [RunFigures] = []
    /// How many receipts more were due than the run was allowed to try.
    public var beyondLimit = 0
    /// What the run took away because it need not be kept any longer.
    public var purged = Purged()
    /// What Apple's sales reports of the last thirty days come to; `nil` if none was read.
    public var sales: SalesFigures?
    /// How far the trail's chain reached when this run closed its books; `nil` if it did not, as in a dry run.
    public var trail: AuditTrail?
    /// What other sessions had locked.
    public var leftOut = LeftOut()
    /// What the night pulled from a company's own databases and files.
    public var sources: [SourcePull] = []
    /// What was new in what Apple tells; `nil` if the run had no means to hear and heard nothing.
    public var heard: NoticeTotals?
    /// What asking Apple again about what was sold before came to.
    public var asked = AskingTotals()
    /// What became of the deliveries that are made without the customer.
    public var redeliveries = RedeliveryFigures()
    /// How hearing goes for each app that has a key, or whose server hands notifications on.
    public var hearings: [HearingFigures] = []
    /// The apps' figures that have a threshold.
    public var watched: [WatchedFigure] = []
    /// Those that have reached it, which are reported first.
    public var alerts: [WatchedFigure] { watched.filter(\.isAlert) }
    /// What many cases have in common, those with the most cases first.
    public var patterns: [Pattern] = []
    /// The programs and devices whose purchases are lost, in the apps whose cases are compared with deliveries.
    public var clients: [ClientFigures] = []
    /// Purchases that are paid and not looked at.
    public var unjudged: [Unjudged] = []
    /// The settings because of which purchases are not looked at.
    public var toMend: [SettingToMend] = []
    /// The owed products whose price nobody knows.
    public var unpriced: [UnpricedProduct] = []

    public init(
        runID: Int64?, startedAt: Date, finishedAt: Date, now: Date, timeZone: TimeZone, outcome: RunOutcome,
        receipts: ReceiptCounts, totals: ControlTotals
    ) {
        self.runID = runID
        self.startedAt = startedAt
        self.finishedAt = finishedAt
        self.now = now
        self.timeZone = timeZone
        self.outcome = outcome
        self.receipts = receipts
        self.totals = totals
    }
}

/// A run in the trend: how many cases were open after it, how many of them it opened, how many were closed since the
/// run before, and the money of the open ones.
public struct RunFigures: Hashable, Sendable {
    public let runID: Int64
    /// The moment that the run took for the present.
    public let now: Date
    public let cases: Int
    public let new: Int
    public let closed: Int
    public let money: [Money]

    public init(runID: Int64, now: Date, cases: Int, new: Int, closed: Int = 0, money: [Money] = []) {
        self.runID = runID
        self.now = now
        self.cases = cases
        self.new = new
        self.closed = closed
        self.money = money
    }
}
