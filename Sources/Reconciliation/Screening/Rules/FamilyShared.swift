extension ScreeningRule {
    /// Access by Family Sharing: somebody else paid, and the purchase is owed to that account. Asked before `refunded`:
    /// when the sharing ends, Apple revokes it, and no money goes back.
    static let familyShared = ScreeningRule { subject in
        subject.transaction.isFamilyShared
    }
}

extension Transaction {
    /// Whether somebody else of the family paid for it.
    public var isFamilyShared: Bool { ownership == "FAMILY_SHARED" }
}
