import AppStoreSimulator

/// A delivered purchase that was refunded in the ledger after a night.
struct RefundObservation: Sendable {
    let night: Int
    let transactionID: String
    /// In thousandths of a percent; `nil` for the whole.
    let share: Int64?
}

/// Refunds after the delivery, for apps with a key, compared with the ledger.
public struct RefundTally: Sendable {
    /// All, whether Apple ever tells of them by itself or not.
    public private(set) var all = 0
    /// Those that the ledger had, with their share, by the night after Apple told of them, or, if Apple does not tell,
    /// on any night.
    public private(set) var noticed = 0
    /// A sentence for each that Apple told of and that the ledger did not have by then.
    public private(set) var faults: [String] = []

    init(_ world: World, _ observations: [RefundObservation]) {
        let settings = world.settings
        let seen = Dictionary(grouping: observations, by: \.transactionID)
        for purchase in world.purchases
        where purchase.isRefundedAfterDelivery && settings.keys.contains(purchase.bundleID) {
            let told = purchase.notifiedAt.refund.map(settings.nightRun)
            guard let refundedAt = purchase.refundedAt, told ?? settings.nightRun(from: refundedAt) <= settings.nights
            else { continue }
            // A notification that the URL took at a later attempt may come with that of the reversal, or after it.
            if let told, let reversed = purchase.notifiedAt.reversal.map(settings.nightRun), reversed <= told {
                continue
            }
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
