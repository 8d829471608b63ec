extension ScreeningRule {
    /// Bought before the app's records begin: non-consumables and subscriptions stay in receipts for ever, and
    /// without this rule the first night would take years of delivered purchases for lost ones.
    static let beforeStart = ScreeningRule(.beforeStart) { subject in
        subject.app.since.map { subject.transaction.purchasedAt < $0 } ?? false
    }
}
