extension ReasonRule {
    /// The app's list of products does not have it: there may be nothing to deliver.
    static let unknownProduct = ReasonRule { !$0.facts.isProductKnown }
}
