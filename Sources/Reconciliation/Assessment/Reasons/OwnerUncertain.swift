extension ReasonRule {
    /// On a shared phone a receipt holds what all its users bought, and whoever hands it in need not have paid.
    static let ownerUncertain = ReasonRule(.ownerUncertain) { matter in
        let facts = matter.facts
        guard matter.owner.user != nil, facts.admittedFor == nil, facts.tokenOwner == nil, facts.claims.isEmpty,
            !facts.orders.contains(where: \.bearsToken)
        else { return false }
        return wasFinishedElsewhere(facts) || mayBeClaimedByAnother(facts)
    }

    /// Where one of them handed it in for a purchase of their own, and a later receipt lacks it, whoever paid may have
    /// finished it, of whom no receipt tells.
    private static func wasFinishedElsewhere(_ facts: CaseFacts) -> Bool {
        facts.isMissingLater && facts.onlyCameWithOthers
    }

    /// Apple told of it early, and nobody uploaded it for its own sake yet: for some days another of the phone's users may.
    private static func mayBeClaimedByAnother(_ facts: CaseFacts) -> Bool {
        facts.notices.sending != nil && facts.age < NoticeSending.retries && facts.mentions.isEmpty
            && !facts.sightings.contains(where: \.isNamed)
    }
}
