extension ScreeningRule {
    /// Access by Family Sharing: somebody else paid, and the purchase is owed to that account.
    static let familyShared = ScreeningRule(.familyShared) { subject in
        subject.transaction.ownership == "FAMILY_SHARED"
    }
}
