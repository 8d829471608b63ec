import AppStoreSimulator
public import Foundation

/// A case that was open after a night.
struct WorldObservation: Sendable {
    let night: Int
    let bundleID: String
    let transactionID: String
    /// For a subscription: the periods without access.
    var periods: [String] = []
    let isHigh: Bool
    let owners: [String]
    let orders: [String]

    /// The purchases that it is about.
    var names: [String] { periods.isEmpty ? [transactionID] : periods }
}

/// What the job said over all nights, compared with the truth.
public struct WorldTally: Sendable {
    /// The content of the ledger in the end.
    struct Deliveries: Sendable {
        /// The user who got each delivered transaction.
        let users: [String: String]
        /// The number of transactions for which more than one claim got the goods.
        let twice: Int
    }

    /// The counts for a scheme or a scenario.
    public struct Counts: Sendable {
        /// A subscription of an app that keeps entitlements counts as one.
        public var purchases = 0
        /// Open past their grace on a night by which something of them had reached the server.
        public var lost = 0
        public var found = 0
        /// Lost on some night, but never a case, or no longer one on a later night on which they were still lost.
        public var missed = 0
        /// Lost, but Apple has not answered yet for any receipt that shows it: the job lists those receipts.
        public var waiting = 0
        /// Lost, but only Apple's notifications told so, for no receipt ever showed them. Of these, `heard` were a case
        /// to the last night on which they were lost. `unheard` were told of by a notification alone on some night, but
        /// were not a case.
        public var onlyTold = 0
        public var heard = 0
        public var unheard = 0
        /// Paid and undelivered, but nothing of them ever reached the server, and Apple does not tell of them.
        public var untold = 0
        /// Found, and delivered or refunded before the last night.
        public var mended = 0
        public var falseAlarms = 0
        /// Those of them that are subscriptions that the app's server had granted.
        public var falseOfGranted = 0
        /// Purchases and subscriptions with several cases on one night.
        public var toldTwice = 0
        /// Subscriptions called `high` while there was access.
        public var overstated = 0
        /// Cases that named one or more owners, but not the one who paid.
        public var wrongOwner = 0
        /// Those of them with the likelihood `high`.
        public var wronglyHigh = 0
        public var wrongOrder = 0
        /// The days from each payment to the night that found it.
        public var days: [Double] = []
        /// The nights from the first that could find it to the one that did.
        public var nightsLate = 0
    }

    public private(set) var total = Counts()
    /// Whether Apple told any app of its purchases by itself.
    public let hasKeys: Bool
    public let refunds: RefundTally
    public let forgeries: ForgeryTally
    /// How the cases are spread over customers and first nights.
    public let spread: CaseSpread
    public private(set) var byScheme: [Scheme: Counts] = [:]
    public private(set) var byMishap: [Mishap: Counts] = [:]
    /// Purchases and subscriptions that ever were a case.
    public let cases: Int
    public let deliveredTwice: Int
    /// The number of redeliveries.
    public let redelivered: Int
    /// Transactions whose delivery in the ledger differs from the world's.
    public let wrongDeliveries: Int
    /// A sentence for each thing that should not be.
    public private(set) var faults: [String] = []

    /// Seconds after the purchase during which it may still be claimed normally.
    public static let grace: TimeInterval = 3_600

    init(
        world: World, observations: [WorldObservation], deliveries: Deliveries, unanswered: Set<String> = [],
        refunds: [RefundObservation] = [], unproved: Set<String> = [], redelivered: Int = 0
    ) {
        let matters = WorldMatter.all(in: world)
        let sorted = SortedObservations(observations, by: matters)
        hasKeys = !world.settings.keys.isEmpty
        self.refunds = RefundTally(world, refunds)
        forgeries = ForgeryTally(world, unproved: unproved)
        deliveredTwice = deliveries.twice
        self.redelivered = redelivered
        cases = sorted.byMatter.count + sorted.strangers.count
        let forged = Set(world.events.forged.map(\.claim.transaction.id))
        let wrong = Self.wrongDeliveries(deliveries, matters.flatMap(\.fates)).filter { fault in
            !forged.contains { fault.hasSuffix($0) }
        }
        wrongDeliveries = wrong.count
        spread = CaseSpread(world, matters, sorted)
        for (index, matter) in matters.enumerated() {
            guard let purchase = matter.fates.first?.purchase, !matter.isOpenToDispute else { continue }
            let judgement = WorldJudgement(
                matter, purchase, seen: sorted.byMatter[index] ?? [], settings: world.settings, unanswered: unanswered)
            count(judgement, of: purchase)
        }
        faults += wrong + self.refunds.faults + forgeries.faults
        for stranger in sorted.strangers.sorted() {
            total.falseAlarms += 1
            faults.append("false alarm: \(stranger) is no purchase of this world")
        }
    }

    private static func wrongDeliveries(_ deliveries: Deliveries, _ fates: [Fate]) -> [String] {
        let untold = Set(fates.filter(isUntold).map(\.purchase.transactionID))
        let delivered = fates.filter {
            $0.bookedAt != nil && $0.purchase.revokedAt == nil && !untold.contains($0.purchase.transactionID)
        }
        let expected = Dictionary(
            uniqueKeysWithValues: delivered.map { ($0.purchase.transactionID, $0.purchase.deliveredTo) })
        let lacking = expected.filter { deliveries.users[$0.key] != $0.value }.keys.map {
            "not delivered as it was: \($0)"
        }
        let strange = deliveries.users.keys.filter { expected[$0] == nil && !untold.contains($0) }.map {
            "delivered, and was not: \($0)"
        }
        return lacking.sorted() + strange.sorted()
    }

    /// Whether nobody can tell if a period was granted. Either Apple took its money back, as for an upgrade, before a
    /// night could see what the app's server granted, and by then the server grants the next period; or only a
    /// customer's history may have told of it.
    private static func isUntold(_ fate: Fate) -> Bool {
        guard fate.purchase.isEntitled else { return false }
        if fate.isOpenToDispute || fate.readsHistories && fate.bookedAt == nil { return true }
        guard let refundedAt = fate.purchase.refundedAt else { return false }
        return fate.bookedAt.map { refundedAt <= $0 } ?? true
    }

    private mutating func count(_ judgement: WorldJudgement, of purchase: WorldPurchase) {
        judgement.add(to: &total)
        judgement.add(to: &byScheme[purchase.scheme, default: Counts()])
        judgement.add(to: &byMishap[purchase.mishap, default: Counts()])
        faults += judgement.faults.map {
            "\($0): \(purchase.transactionID), \(purchase.scheme.rawValue), \(purchase.mishap.rawValue)"
        }
    }

    /// Whether everything evident was found; false alarms are under a thousandth of the cases, and none are about what
    /// was granted; nothing was delivered or told twice; no customer has more cases than losses; nobody was wrongly
    /// named the owner with the likelihood `high`; everything that Apple told by itself was heeded; and every forged
    /// delivery was named.
    public var isGood: Bool {
        total.missed == 0 && total.falseAlarms * 1_000 <= cases && deliveredTwice == 0 && wrongDeliveries == 0
            && total.wronglyHigh == 0 && total.falseOfGranted == 0 && total.toldTwice == 0 && total.overstated == 0
            && spread.overburdened == 0 && total.unheard == 0 && refunds.faults.isEmpty
            && forgeries.faults.isEmpty
    }
}
