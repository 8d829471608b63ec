import AppStoreSimulator
import Foundation

/// The moment from which each app of a world lets the job see its deliveries of each product type, as the world knows
/// it: by the app's configuration, otherwise from its first delivery on.
struct Fates {
    private struct Kind: Hashable {
        let bundleID: String
        let type: SimulatedTransaction.ProductType
    }

    private let nights: [Fate.Night]
    private let grace: TimeInterval
    private var judgedFrom: [Kind: Date] = [:]
    /// The apps whose receipts are verified by their customers' histories.
    private let readers: Set<String>

    /// - Parameter grace: seconds after the purchase during which it may still be claimed normally.
    init(_ world: World, grace: TimeInterval = WorldTally.grace) {
        let settings = world.settings
        self.grace = grace
        readers = Set(World.apps.filter { $0.readsHistories(settings) }.map(\.bundleID))
        nights = settings.runs.map { Fate.Night(number: $0, at: settings.moment(ofNight: $0)) }
        for claim in world.events.claims where claim.kind == .delivered {
            note(claim.bundleID, claim.transaction.productType, claim.at)
        }
        for grant in world.events.grants { note(grant.bundleID, .autoRenewable, grant.at) }
        for app in World.apps {
            for type in SimulatedTransaction.ProductType.allCases {
                guard let word = app.delivery[type.word] else { continue }
                let since = app.since(settings) ?? .distantPast
                judgedFrom[Kind(bundleID: app.bundleID, type: type)] = word == "ignore" ? nil : since
            }
        }
    }

    private mutating func note(_ bundleID: String, _ type: SimulatedTransaction.ProductType, _ moment: Date) {
        let kind = Kind(bundleID: bundleID, type: type)
        judgedFrom[kind] = min(judgedFrom[kind] ?? .distantFuture, moment)
    }

    /// Returns what became of a purchase.
    func fate(of purchase: WorldPurchase) -> Fate {
        let kind = Kind(bundleID: purchase.bundleID, type: purchase.transaction.productType)
        let isJudged = judgedFrom[kind].map { $0 <= purchase.purchasedAt } ?? false
        return Fate(
            purchase, isJudged: isJudged, readsHistories: readers.contains(purchase.bundleID), grace: grace, nights)
    }
}

/// What became of a purchase, by the nights on which the job was run.
struct Fate {
    struct Night {
        let number: Int
        let at: Date
    }

    let purchase: WorldPurchase
    /// When the ledger should have it as delivered.
    let bookedAt: Date?
    /// The nights on which it was past its grace and open. `lostNights` are those of them by which something of it had
    /// reached the server.
    let dueNights: Set<Int>
    let lostNights: Set<Int>
    /// The due nights on which only Apple's notifications told of it.
    let heardNights: Set<Int>
    /// The nights on which it was open within its grace, and evident.
    let pendingNights: Set<Int>

    /// Whether the job verifies the app's receipts by its customers' histories.
    let readsHistories: Bool
    /// Whether the truth can't say if it is lost, since that depends on what a customer's history told, and when.
    let isOpenToDispute: Bool

    /// - Parameter isJudged: whether the app lets the job see its deliveries of this type, and did so at the purchase.
    init(_ purchase: WorldPurchase, isJudged: Bool, readsHistories: Bool, grace: TimeInterval, _ nights: [Night]) {
        self.purchase = purchase
        self.readsHistories = readsHistories
        let owed = isJudged ? nights.filter { purchase.isOwed(at: $0.at) } : []
        let due = owed.filter { purchase.purchasedAt + grace <= $0.at }
        let toldAt = purchase.toldAt ?? .distantFuture
        let granted = purchase.toldDelivered(nights) ?? .distantFuture
        // A period that passed without access, and was found so, stays a case, whatever was granted afterwards.
        let isGrantedAfter = purchase.isEntitled && purchase.expiresAt <= granted
        let isGrantedTooLate = isGrantedAfter && due.contains { $0.at < granted && toldAt <= $0.at }
        // Apple refuses to verify what a deleted account has paid, and its history just does not know it.
        isOpenToDispute =
            readsHistories
            && (purchase.mishap == .accountGone
                || isGrantedAfter && granted != .distantFuture && !isGrantedTooLate && due.contains { $0.at < granted })
        let delivered = isGrantedTooLate ? .distantFuture : granted
        let toldOn = nights.first { toldAt <= $0.at }?.at
        bookedAt = delivered == .distantFuture ? nil : purchase.booking(of: delivered, toldAt: toldOn)
        let open = owed.filter { delivered > $0.at }
        dueNights = Set(due.filter { delivered > $0.at }.map(\.number))
        // A purchase that a night saw refunded is settled: only Apple tells that it is owed after all.
        let isSettled = purchase.isRefundSeen(on: nights)
        let isReopened = { (night: Night) in isSettled && purchase.isReversed(at: night.at) }
        let isBy = { (evidence: Date?, night: Night) in evidence.map { $0 <= night.at } ?? false }
        let evident = Set(open.filter { !isReopened($0) && isBy(purchase.evidentAt, $0) }.map(\.number))
        let told = open.filter { isBy(isReopened($0) ? purchase.notifiedAt.reversal : purchase.toldAt, $0) }
        lostNights = evident.intersection(dueNights)
        heardNights = dueNights.intersection(told.map(\.number)).subtracting(lostNights)
        pendingNights = evident.subtracting(dueNights)
    }

    /// Whether the customer has paid for it, but has nothing at this moment.
    func isLackedNow(_ night: Int, _ settings: WorldSettings) -> Bool {
        let moment = settings.moment(ofNight: night)
        let isGranted = purchase.deliveredAt.map { $0 <= moment } ?? false
        return dueNights.contains(night) && purchase.expiresAt > moment && !isGranted && !purchase.transaction.isTrial
    }
}

extension WorldPurchase {
    /// Whether it is paid and not refunded, whatever was delivered.
    fileprivate func isOwed(at moment: Date) -> Bool {
        isOwed && purchasedAt <= moment && (refundedAt.map { $0 > moment } ?? true || isReversed(at: moment))
    }

    /// Whether Apple has reversed its refund by then.
    fileprivate func isReversed(at moment: Date) -> Bool { refundReversedAt.map { $0 <= moment } ?? false }

    /// Whether a night saw a refund that was reversed later.
    fileprivate func isRefundSeen(on nights: [Fate.Night]) -> Bool {
        guard let refundedAt, let refundReversedAt, let toldAt else { return false }
        return nights.contains { max(refundedAt, toldAt) <= $0.at && $0.at < refundReversedAt }
    }

    /// When the job learns that it was delivered: for a company with its own tables, only by the night.
    fileprivate func toldDelivered(_ nights: [Fate.Night]) -> Date? {
        guard let deliveredAt, isEntitled, WorldApp.withOwnTables.contains(bundleID) else { return deliveredAt }
        return nights.first { deliveredAt <= $0.at }?.at
    }

    /// When the ledger has a delivery: a claim at once; a grant once Apple has told of the purchase, but not of its
    /// refund.
    fileprivate func booking(of delivered: Date, toldAt: Date?) -> Date? {
        guard isEntitled else { return delivered }
        guard let toldAt, toldAt < refundedAt ?? .distantFuture else { return nil }
        return max(delivered, toldAt)
    }
}

extension SimulatedTransaction.ProductType {
    /// The word in the configuration.
    var word: String {
        switch self {
        case .consumable: "consumable"
        case .nonConsumable: "non_consumable"
        case .nonRenewing: "non_renewing"
        case .autoRenewable: "auto_renewable"
        }
    }
}
