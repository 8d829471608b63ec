import Foundation

extension ReasonRule {
    /// On a shared phone a receipt holds what all its users bought, and whoever hands it in need not have paid.
    static let ownerUncertain = ReasonRule { matter in
        let facts = matter.facts
        guard matter.owner.user != nil, facts.admittedFor == nil, facts.tokenOwners.isEmpty, facts.claims.isEmpty,
            !facts.orders.contains(where: \.bearsToken)
        else { return false }
        return wasFinishedElsewhere(facts) || mayBeClaimedByAnother(facts) || isOfTheAccountAlone(matter)
    }

    /// The only evidence for them is that other purchases of the account, or of the receipt, were theirs. A phone's users
    /// share its account, and nothing may have been delivered yet to the one who paid. An order of theirs would be
    /// evidence, too.
    private static func isOfTheAccountAlone(_ matter: CaseMatter) -> Bool {
        OwnerCandidate.all(in: matter.facts).allSatisfy { Set($0.evidence).isSubset(of: [.account, .companion]) }
            && matter.orders == .none
    }

    /// If one of them handed it in for a purchase of their own, and a later receipt lacks it, somebody of whom no
    /// receipt tells may have paid for it and finished it.
    private static func wasFinishedElsewhere(_ facts: CaseFacts) -> Bool {
        facts.isMissingLater && facts.onlyCameWithOthers
    }

    /// Nothing more comes from Apple, or the app's server would not take it, and nobody uploaded it for its own sake
    /// when it was paid: for some days another of the phone's users may come for it. Who restores it need not have
    /// paid, however soon they upload that.
    private static func mayBeClaimedByAnother(_ facts: CaseFacts) -> Bool {
        let paidAt = facts.firstPurchasedAt ?? facts.purchasedAt
        guard facts.notices.sending != nil || facts.notices.isMissing || !facts.awaitsNotifications,
            facts.age + facts.purchasedAt.timeIntervalSince(paidAt) < NoticeSending.retryWindow,
            facts.mentions.isEmpty
        else { return false }
        guard let uploadedAt = facts.sightings.filter(\.isNamed).map(\.uploadedAt).min() else { return true }
        // An order is evidence for its user, so somebody else's would have made the owner ambiguous.
        let isOrdered = facts.orders.contains { facts.namedOrderIDs.containsExactly($0.id) }
        return !isOrdered && uploadedAt > paidAt + promptly
    }

    /// Seconds within which the payer's callback comes; later another user may be logged in.
    private static let promptly: TimeInterval = 15 * 60
}
