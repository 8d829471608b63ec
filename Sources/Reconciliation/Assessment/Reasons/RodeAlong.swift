extension ReasonRule {
    /// Every receipt that holds it was uploaded for another transaction: the client never came to this one.
    static let rodeAlong = ReasonRule(.rodeAlong) { facts in
        !facts.sightings.isEmpty && facts.sightings.allSatisfy { !$0.isNamed }
    }
}
