import AppStoreSimulator

/// A delivered purchase that the ledger had as refunded after a night.
struct RefundObservation: Sendable {
    let night: Int
    let transactionID: String
    /// In thousandths of a percent; `nil` for the whole.
    let share: Int64?
}

/// Refunds after the delivery, of apps with a key, beside what the ledger says of them.
public struct RefundTally: Sendable {
    /// Whether Apple ever tells of them by itself or not.
    public private(set) var all = 0
    /// Those that the ledger had, with their share, by the night after Apple told of them; what Apple does not tell, in
    /// any night.
    public private(set) var noticed = 0
    /// A sentence for each that Apple told of and the ledger did not have by then.
    public private(set) var faults: [String] = []

    init(_ world: World, _ observations: [RefundObservation]) {
        let settings = world.settings
        let seen = Dictionary(grouping: observations, by: \.transactionID)
        for purchase in world.purchases
        where purchase.isRefundedAfterDelivery && settings.keys.contains(purchase.bundleID) {
            let told = purchase.notifiedAt.refund.map(settings.nightRun)
            guard let refundedAt = purchase.refundedAt, told ?? settings.nightRun(from: refundedAt) <= settings.nights
            else { continue }
            all += 1
            let isNoticed = (seen[purchase.transactionID] ?? []).contains {
                told ?? $0.night == $0.night && $0.share ?? Self.whole == purchase.refundedShare ?? Self.whole
            }
            if isNoticed { noticed += 1 }
            if !isNoticed, told != nil { faults.append("refund not noticed: \(purchase.transactionID)") }
        }
    }

    private static let whole: Int64 = 100_000
}

extension WorldPurchase {
    fileprivate var isRefundedAfterDelivery: Bool {
        guard let deliveredAt, let refundedAt, !isEntitled else { return false }
        return deliveredAt < refundedAt
    }
}
