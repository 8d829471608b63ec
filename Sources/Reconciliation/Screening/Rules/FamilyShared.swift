extension ScreeningRule {
    /// Access by Family Sharing, or by a seat: somebody else paid, and the purchase is owed to that account. Asked before
    /// `refunded`: when the sharing ends, Apple revokes it, and no money goes back.
    static let familyShared = ScreeningRule { subject in
        subject.transaction.isFamilyShared
    }
}

extension Transaction {
    /// Whether somebody else paid for it: of the family, or who bought seats for a group or an organization. Of those
    /// each member has a transaction, with the price and the number of all seats:
    /// https://developer.apple.com/documentation/appstoreserverapi/invitationmanagement
    public var isFamilyShared: Bool { ownership == "FAMILY_SHARED" || ownership == "ASSIGNED" }
}
