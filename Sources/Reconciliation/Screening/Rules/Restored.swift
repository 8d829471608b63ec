extension ScreeningRule {
    /// A restored non-consumable has a new transaction id and the old original one. It counts as delivered if its
    /// original was, and is owed only once while its original waits. The same holds for a subscription's period, whose
    /// id can change.
    static let restored = ScreeningRule { subject in
        (subject.isRestorable || subject.productType == .autoRenewable) && subject.isOriginalKnown
    }
}
