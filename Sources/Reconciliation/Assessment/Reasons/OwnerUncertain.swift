extension ReasonRule {
    /// On a shared phone a receipt holds what all its users bought. Where one of them handed it in for a purchase of
    /// their own, and a later receipt lacks it, whoever paid may have finished it, of whom no receipt tells.
    static let ownerUncertain = ReasonRule(.ownerUncertain) { matter in
        matter.facts.isMissingLater && matter.facts.onlyCameWithOthers && matter.owner.user != nil
            && matter.facts.admittedFor == nil && matter.facts.claims.isEmpty
            && !matter.facts.orders.contains(where: \.bearsToken)
    }
}
