import Foundation

extension ScreeningRule {
    /// Bought before the app's records begin: non-consumables and subscriptions stay in receipts for ever, and
    /// without this rule the first night would take years of delivered purchases for lost ones.
    static let beforeStart = ScreeningRule { subject in
        subject.app.since.map { subject.boughtAt < $0 } ?? false
    }
}

extension ScreeningSubject {
    /// A restored non-consumable has a new date of purchase, and still the original one.
    fileprivate var boughtAt: Date {
        guard isRestorable, let original = transaction.originalPurchasedAt else { return transaction.purchasedAt }
        return min(transaction.purchasedAt, original)
    }
}
