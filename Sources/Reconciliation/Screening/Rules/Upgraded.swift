extension ScreeningRule {
    /// Replaced by an upgrade within its subscription group: the upgrade is what is owed.
    static let upgraded = ScreeningRule { subject in
        subject.transaction.isUpgraded
    }
}
