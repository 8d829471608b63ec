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
    /// In which support staff read times, beside UTC.
    public var timeZone: TimeZone
    public var outcome: RunOutcome
    public var receipts: ReceiptCounts
    public var totals: ControlTotals
    public var cases: CaseCounts
    /// White transactions that are still within their grace: no cases.
    public var pending: Int
    /// Seconds and items of each stage, in the order of the flow.
    public var stages: [StageTime]
    /// The last runs up to this one, the oldest first.
    public var history: [RunFigures]
    /// How many receipts more were due than the run was allowed to try.
    public var beyondLimit = 0
    /// What the run took away because it need not be kept any longer.
    public var purged = Purged()
    /// What Apple's sales reports of the last thirty days come to; `nil` where none was read.
    public var sales: SalesFigures?
    /// How far the trail's chain reached when this run closed its books; `nil` where it did not, as in a dry run.
    public var trail: AuditTrail?
    /// What other sessions had locked.
    public var leftOut = LeftOut()
    /// What the night pulled from a company's own databases and files.
    public var sources: [SourcePull] = []
    /// What was new of what Apple tells; `nil` where nothing was heard.
    public var heard: NoticeTotals?
    /// What asking Apple again about what was sold before came to.
    public var asked = AskingTotals()
    /// What became of the deliveries that are made without the customer.
    public var redeliveries = RedeliveryFigures()
    /// How hearing each app goes that has a key, or whose server hands notifications on.
    public var hearings: [HearingFigures] = []
    /// The apps' figures that have a threshold.
    public var watched: [WatchedFigure] = []
    /// Those that have reached it, which are told of before everything else.
    public var alerts: [WatchedFigure] { watched.filter(\.isAlert) }
    /// What many cases have in common, those with the most cases first.
    public var patterns: [Pattern] = []
    /// Of which programs and devices purchases are lost, in the apps whose cases are compared with deliveries.
    public var clients: [ClientFigures] = []
    /// What is paid and not looked at.
    public var unjudged: [Unjudged] = []
    /// Because of which settings purchases are not looked at.
    public var toMend: [SettingToMend] = []
    /// The products of what is owed whose price nobody knows.
    public var unpriced: [UnpricedProduct] = []

    public init(
        runID: Int64?, startedAt: Date, finishedAt: Date, now: Date, timeZone: TimeZone, outcome: RunOutcome,
        receipts: ReceiptCounts, totals: ControlTotals, cases: CaseCounts, pending: Int, stages: [StageTime],
        history: [RunFigures] = []
    ) {
        self.runID = runID
        self.startedAt = startedAt
        self.finishedAt = finishedAt
        self.now = now
        self.timeZone = timeZone
        self.outcome = outcome
        self.receipts = receipts
        self.totals = totals
        self.cases = cases
        self.pending = pending
        self.stages = stages
        self.history = history
    }
}

/// A run in the trend: how many cases were open after it, how many of them it opened, how many were closed since the run
/// before, and the money of the open ones.
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

/// How a run ended.
public enum RunOutcome: Hashable, Sendable {
    /// Everything due was tried.
    case complete
    /// It ended before everything due was tried, for the reason given in a sentence.
    case endedEarly(String)
}

/// What became of the receipts of a run.
public struct ReceiptCounts: Hashable, Sendable {
    /// Due when the run began.
    public var due: Int
    public var verified: Int
    /// Apple asks to try again, or could not be reached.
    public var tryAgain: Int
    public var unusable: Int

    public init(due: Int = 0, verified: Int = 0, tryAgain: Int = 0, unusable: Int = 0) {
        self.due = due
        self.verified = verified
        self.tryAgain = tryAgain
        self.unusable = unusable
    }

    /// Tried in this run.
    public var tried: Int { verified + tryAgain + unusable }

    /// Not tried in this run.
    public var left: Int { max(0, due - tried) }
}

/// How a case ended.
public enum CaseEnd: String, Hashable, Sendable, Codable, CaseIterable {
    /// By a claim, or by the support desk.
    case delivered
    /// The support desk found that nothing is owed.
    case dismissed
    case refunded
    /// Apple's latest word is that nothing is owed.
    case withdrawn
}

/// The cases of a report by number and money.
public struct CaseCounts: Hashable, Sendable {
    public var byLikelihood: [Likelihood: Int]
    /// Opened by this run.
    public var new: Int
    /// Closed before, and opened again by this run.
    public var reopened: Int
    /// Closed, and told of by no run before, by how they ended.
    public var closed: [CaseEnd: Int]
    /// The money of the cases by currency, in the currency's order.
    public var money: [Money]
    /// Cases whose price is not known.
    public var unpriced: Int
    public var oldestPurchase: Date?

    public init(
        byLikelihood: [Likelihood: Int] = [:], new: Int = 0, reopened: Int = 0, closed: [CaseEnd: Int] = [:],
        money: [Money] = [], unpriced: Int = 0,
        oldestPurchase: Date? = nil
    ) {
        self.byLikelihood = byLikelihood
        self.new = new
        self.reopened = reopened
        self.closed = closed
        self.money = money
        self.unpriced = unpriced
        self.oldestPurchase = oldestPurchase
    }

    public var total: Int { byLikelihood.values.reduce(0, +) }
}

/// How long a stage of the run took and how much it handled.
public struct StageTime: Hashable, Codable, Sendable {
    public let name: String
    public let seconds: Double
    public let items: Int

    public init(name: String, seconds: Double, items: Int) {
        self.name = name
        self.seconds = seconds
        self.items = items
    }
}
