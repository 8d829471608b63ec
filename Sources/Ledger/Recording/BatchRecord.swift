public import Foundation
public import Reconciliation

/// What a batch's verification gave, ready to be recorded in one database transaction.
public struct BatchRecord: Sendable {
    public let runID: Int64
    public let bucket: Int
    /// The moment that the run takes for the present.
    public let now: Date
    public let sightings: [SightedTransaction]
    public let receipts: [TriedReceipt]
    /// Whether excluded may hold what today's settings let through; only then it is looked for.
    let isReleasing: Bool
    /// Of each transaction, which of the sightings tells the most of it.
    let best: Set<Int>
    /// How many transactions are owed, new or known.
    let owed: Int
    let holdsRefunds: Bool

    public init(
        runID: Int64, bucket: Int, now: Date, sightings: [SightedTransaction], receipts: [TriedReceipt],
        isReleasing: Bool = false
    ) {
        self.runID = runID
        self.bucket = bucket
        self.now = now
        self.sightings = sightings
        self.receipts = receipts
        self.isReleasing = isReleasing
        let best = sightings.bestSightings()
        self.best = best
        self.owed = best.count { sightings[$0].exclusion == nil }
        self.holdsRefunds = best.contains { sightings[$0].transaction.refundedAt != nil }
    }

    var holdsExcluded: Bool { owed < best.count }

    /// A night lasts twenty hours: a cron job that starts somewhat early still finds last night's receipts due.
    static let night: TimeInterval = 20 * 3600

    var nextNight: Date { now.addingTimeInterval(Self.night) }
}

/// A receipt that was tried, and what becomes of it.
public struct TriedReceipt: Sendable {
    public let id: Int64
    public let outcome: ReceiptOutcome
    /// What the check of its signature on this machine said, where it was looked at.
    public let signature: OfflineSignature?
    /// When the receipt says that it was made; only of one that holds all that the client has not finished.
    public let madeAt: Date?

    public init(id: Int64, outcome: ReceiptOutcome, signature: OfflineSignature? = nil, madeAt: Date? = nil) {
        self.id = id
        self.outcome = outcome
        self.signature = signature
        self.madeAt = madeAt
    }
}

/// What recording a batch did, for the control totals.
public struct BatchTotals: Sendable {
    public var verified = Tally()
    public var newlyWhite = Tally()
    public var alreadyWhite = Tally()
    public var alreadyBlack = Tally()
    public var excluded = Tally()
    public var receipts = ReceiptCounts()

    public init() {}
}
