extension ReasonRule {
    /// No receipt ever held it: Apple told of it in the history of the customer, whose other purchases are known.
    static let noReceipt = ReasonRule { matter in
        !matter.facts.sightings.isEmpty && matter.facts.sightings.allSatisfy { !$0.isInReceipt }
    }
}
