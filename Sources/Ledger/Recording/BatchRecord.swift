public import Foundation
public import Reconciliation

/// What a batch's verification gave, ready to be recorded in one database transaction.
public struct BatchRecord: Sendable {
    public let runID: Int64
    /// The moment that the run takes for the present.
    public let now: Date
    public let sightings: [SightedTransaction]
    public let receipts: [TriedReceipt]
    /// What the sightings together tell of each transaction, and which of these each sighting is of.
    let heard: [ScreenedTransaction]
    let numbers: [Int32]

    public init(
        runID: Int64, now: Date, sightings: [SightedTransaction], receipts: [TriedReceipt]
    ) {
        self.runID = runID
        self.now = now
        self.sightings = sightings
        self.receipts = receipts
        (heard, numbers) = sightings.heard()
    }

    /// A night lasts twenty hours: a cron job that starts somewhat early still finds last night's receipts due.
    static let night: TimeInterval = 20 * 3600

    var nextNight: Date { now.addingTimeInterval(Self.night) }
}

/// A receipt that was tried, and what becomes of it.
public struct TriedReceipt: Sendable {
    public let id: Int64
    public let outcome: ReceiptOutcome
    /// What the check of its signature on this machine said, if it was looked at.
    public let signature: OfflineSignature?
    /// When the receipt says that it was made; only for a receipt that holds everything that the client has not
    /// finished.
    public let madeAt: Date?
    /// The transactions that it was uploaded for and does not hold.
    public let missing: [String]
    /// As of the moment in which it was taken in hand: see `InboxReceipt.uploadedAgainAt`.
    public let uploadedAgainAt: Date?

    public init(
        id: Int64, outcome: ReceiptOutcome, signature: OfflineSignature? = nil, madeAt: Date? = nil,
        missing: [String] = [], uploadedAgainAt: Date? = nil
    ) {
        self.id = id
        self.outcome = outcome
        self.signature = signature
        self.madeAt = madeAt
        self.missing = missing
        self.uploadedAgainAt = uploadedAgainAt
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
    /// The transactions that another session had locked; their receipts are due as before.
    public var locked: [TransactionID] = []
    /// The receipts that hold one of these, or that another session had locked themselves.
    public var receiptsHeld: [Int64] = []

    public init() {}
}
