extension ReasonRule {
    /// Every receipt that holds it was uploaded for another transaction: the client never came to this one.
    static let rodeAlong = ReasonRule { matter in
        let held = matter.facts.sightings.filter(\.isInReceipt)
        return !held.isEmpty && held.allSatisfy { !$0.isNamed }
    }
}
