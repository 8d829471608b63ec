public import Foundation

/// A case as it stood open after a night.
struct NightsObservation: Sendable {
    let night: Int
    let transactionID: String
    let isHigh: Bool
    let owners: [String]
    let orders: [String]
}

/// What the job said in all nights, beside the truth.
public struct NightsTally: Sendable {
    /// What the ledger holds in the end.
    struct Deliveries: Sendable {
        /// To whom each delivered transaction went.
        let users: [String: String]
        /// Transactions for which more than one claim got the goods.
        let twice: Int
    }

    /// What is counted for a scheme or a scenario.
    public struct Counts: Sendable {
        public var purchases = 0
        /// Open past their grace on a night by which something of them had reached the server.
        public var lost = 0
        public var found = 0
        /// Lost on some night, and never a case, or no more a case on a later night on which they were lost still.
        public var missed = 0
        /// Lost, and Apple has not answered yet for any receipt that tells of it: the job lists those receipts.
        public var waiting = 0
        /// Paid and undelivered, and nothing of them ever reached the server.
        public var untold = 0
        /// Found, and delivered or refunded before the last night.
        public var mended = 0
        public var falseAlarms = 0
        /// Cases that named an owner or owners, and not the one who paid.
        public var wrongOwner = 0
        /// Of these, those that did so with the likelihood `high`.
        public var wronglyHigh = 0
        public var wrongOrder = 0
        /// From the payment to the night that found it, in days.
        public var days: [Double] = []
        /// From the first night that could find it to the one that did.
        public var nightsLate = 0
    }

    public private(set) var total = Counts()
    public private(set) var byScheme: [Scheme: Counts] = [:]
    public private(set) var byMishap: [Mishap: Counts] = [:]
    /// Transactions that ever were a case.
    public let cases: Int
    public let deliveredTwice: Int
    /// Transactions whose delivery in the ledger isn't that of the world.
    public let wrongDeliveries: Int
    /// A sentence for each of what should not be.
    public private(set) var faults: [String] = []

    /// Seconds after the purchase during which it may still be claimed normally.
    public static let grace: TimeInterval = 3_600

    init(
        world: NightsWorld, observations: [NightsObservation], deliveries: Deliveries, unanswered: Set<String> = []
    ) {
        let byTransaction = Dictionary(grouping: observations, by: \.transactionID)
        cases = byTransaction.count
        deliveredTwice = deliveries.twice
        let delivered = world.purchases.filter { $0.deliveredAt != nil }
        let expected = Dictionary(uniqueKeysWithValues: delivered.map { ($0.transactionID, $0.deliveredTo) })
        wrongDeliveries =
            expected.count { deliveries.users[$0.key] != $0.value }
            + deliveries.users.keys.count { expected[$0] == nil }
        for purchase in world.purchases {
            let judgement = NightsJudgement(
                purchase, seen: byTransaction[purchase.transactionID] ?? [], settings: world.settings,
                isUnanswered: unanswered.contains(purchase.transactionID))
            count(judgement, of: purchase)
        }
        let known = Set(world.purchases.map(\.transactionID))
        for stranger in byTransaction.keys where !known.contains(stranger) {
            total.falseAlarms += 1
            faults.append("false alarm: \(stranger) is no purchase of this world")
        }
    }

    private mutating func count(_ judgement: NightsJudgement, of purchase: NightsPurchase) {
        judgement.add(to: &total)
        judgement.add(to: &byScheme[purchase.scheme, default: Counts()])
        judgement.add(to: &byMishap[purchase.mishap, default: Counts()])
        faults += judgement.faults.map {
            "\($0): \(purchase.transactionID), \(purchase.scheme.rawValue), \(purchase.mishap.rawValue)"
        }
    }

    /// Whether everything evident was found, false alarms are under a thousandth of the cases, nothing was delivered
    /// twice, and nobody was wrongly named the owner with the likelihood `high`.
    public var isGood: Bool {
        total.missed == 0 && total.falseAlarms * 1_000 <= cases && deliveredTwice == 0 && wrongDeliveries == 0
            && total.wronglyHigh == 0
    }
}
