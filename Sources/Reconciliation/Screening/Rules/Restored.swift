extension ScreeningRule {
    /// A restored non-consumable has a new transaction id and the old original one. It counts as delivered if its
    /// original was, and is owed only once while its original waits.
    static let restored = ScreeningRule(.restored) { subject in
        subject.isRestorable && subject.isOriginalKnown
    }
}
