import Foundation

extension ReasonRule {
    /// On a shared phone a receipt holds what all its users bought, and whoever hands it in need not have paid.
    static let ownerUncertain = ReasonRule { matter in
        let facts = matter.facts
        guard matter.owner.user != nil, facts.admittedFor == nil, facts.tokenOwner == nil, facts.claims.isEmpty,
            !facts.orders.contains(where: \.bearsToken)
        else { return false }
        return wasFinishedElsewhere(facts) || mayBeClaimedByAnother(facts) || isOfTheAccountAlone(matter)
    }

    /// All that speaks for them is that others of the account's purchases were theirs. A phone's users share its account,
    /// and of the one who paid nothing may have been delivered yet: an order of their own would speak for them, too.
    private static func isOfTheAccountAlone(_ matter: CaseMatter) -> Bool {
        OwnerCandidate.all(in: matter.facts).allSatisfy { $0.evidence == [.account] } && matter.orders == .none
    }

    /// Where one of them handed it in for a purchase of their own, and a later receipt lacks it, whoever paid may have
    /// finished it, of whom no receipt tells.
    private static func wasFinishedElsewhere(_ facts: CaseFacts) -> Bool {
        facts.isMissingLater && facts.onlyCameWithOthers
    }

    /// Nothing more comes from Apple, or the app's server would not take it, and nobody uploaded it for its own sake when
    /// it was paid: for some days another of the phone's users may come for it.
    private static func mayBeClaimedByAnother(_ facts: CaseFacts) -> Bool {
        guard facts.notices.sending != nil || facts.notices.isMissing || !facts.awaitsNotifications,
            facts.age < NoticeSending.retryWindow, facts.mentions.isEmpty
        else { return false }
        guard let uploadedAt = facts.sightings.filter(\.isNamed).map(\.uploadedAt).min() else { return true }
        // An order speaks for its user, so that one of anybody else's would have made the owner ambiguous.
        let ordered = Set(facts.namedOrderIDs)
        let isOrdered = facts.orders.contains { ordered.contains($0.id) }
        return !isOrdered && uploadedAt > facts.purchasedAt + promptly
    }

    /// Seconds in which the callback of whoever paid comes: later another user may be logged in.
    private static let promptly: TimeInterval = 15 * 60
}
