import AppStoreSimulator
import Foundation

/// What customers take up with Apple after the purchase, and what Apple tells by itself, for apps with a key. It is
/// drawn from each purchase's own numbers, so everything else is as it is without keys.
extension WorldEvents {
    private static let complaints = ["UNINTENDED_PURCHASE", "FULFILLMENT_ISSUE", "UNSATISFIED_WITH_PURCHASE", "OTHER"]

    mutating func takeUpWithApple(_ settings: WorldSettings) {
        let claimed = Dictionary(claims.map { ($0.transaction.id, $0.at) }, uniquingKeysWith: max)
        for index in purchases.indices {
            let id = purchases[index].transactionID
            var random = SeededRandom(seed: settings.seed, part: "Apple", number: StableHash.of(id.utf8))
            if purchases[index].refundedAt == nil {
                refund(index, claimedAt: claimed[id], settings, &random)
            } else {
                reverse(index, settings, &random)
            }
            complain(index, &random)
            notify(index, settings.notices)
        }
    }

    /// Refunds some of what was delivered, fully or partly, up to 60 days afterwards, and ends the sharing of some of
    /// what a family member shared.
    private mutating func refund(
        _ index: Int, claimedAt: Date?, _ settings: WorldSettings, _ random: inout SeededRandom
    ) {
        let purchase = purchases[index]
        let isShared = purchase.transaction.isFamilyShared && !purchase.transaction.isAutoRenewable
        let isDelivered = purchase.deliveredAt != nil && !purchase.isEntitled && !purchase.transaction.isTrial
        guard isShared || isDelivered, random.happens(isShared ? 0.2 : 0.08) else { return }
        let at = (claimedAt ?? purchase.purchasedAt) + random.days(0.25...60)
        guard at <= settings.end else { return }
        let kind: Refund.Kind =
            if isShared {
                .familyRevoke
            } else if random.happens(0.35) {
                .prorated(1_000 * Int64(20 + random.next() % 61))
            } else {
                .full
            }
        refunds.append((purchase.transactionID, Refund(at: at, reason: random.pick(["0", "0", "1"]), kind: kind)))
        purchases[index].refundedAt = at
        if case .prorated(let share) = kind { purchases[index].refundedShare = share }
        if isDelivered { reverse(index, settings, &random) }
    }

    /// For some, Apple takes the money again some days later: a night sees the refund in between.
    private mutating func reverse(_ index: Int, _ settings: WorldSettings, _ random: inout SeededRandom) {
        let purchase = purchases[index]
        guard let refundedAt = purchase.refundedAt, !purchase.isEntitled, purchase.isOwed, random.happens(0.2),
            let place = refunds.firstIndex(where: { $0.transactionID == purchase.transactionID })
        else { return }
        let at = refundedAt + random.days(1.5...10)
        guard at <= settings.end else { return }
        refunds[place].refund.reversedAt = at
        purchases[index].refundReversedAt = at
    }

    /// Before a refund Apple often asks the app's server; and some who never got anything ask Apple for their money.
    private mutating func complain(_ index: Int, _ random: inout SeededRandom) {
        let purchase = purchases[index]
        guard purchase.isOwed, purchase.transaction.productType == .consumable else { return }
        if let refundedAt = purchase.refundedAt {
            guard random.happens(0.5) else { return }
            let at = max(purchase.purchasedAt + 60, refundedAt - random.days(0.5...2))
            let request = ConsumptionRequest(at: at, reason: random.pick(Self.complaints))
            requests.append((purchase.transactionID, request))
        } else if !purchase.isServed, random.happens(0.15) {
            let at = purchase.purchasedAt + random.days(0.05...3)
            requests.append((purchase.transactionID, ConsumptionRequest(at: at, reason: "FULFILLMENT_ISSUE")))
        }
    }

    private mutating func notify(_ index: Int, _ policy: NoticePolicy) {
        let purchase = purchases[index]
        let id = purchase.transactionID
        purchases[index].notifiedAt.purchase = StoreNotification.Kind(purchase.transaction)
            .flatMap { policy.heard($0, id, at: purchase.purchasedAt) }
        let kind: StoreNotification.Kind = purchase.transaction.isFamilyShared ? .revoke : .refund
        purchases[index].notifiedAt.refund = purchase.refundedAt.flatMap { policy.heard(kind, id, at: $0) }
        purchases[index].notifiedAt.reversal = purchase.refundReversedAt
            .flatMap { policy.heard(.refundReversed, id, at: $0) }
    }
}

extension SeededRandom {
    /// A number of seconds, uniformly distributed over some days.
    fileprivate mutating func days(_ range: ClosedRange<Double>) -> TimeInterval {
        let days = range.lowerBound + Mix.share(next()) * (range.upperBound - range.lowerBound)
        return (days * WorldSettings.day).rounded()
    }
}
