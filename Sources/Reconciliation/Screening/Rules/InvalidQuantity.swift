extension ScreeningRule {
    /// Apple sells at least one of a thing; a quantity below that is no purchase to deliver.
    static let invalidQuantity = ScreeningRule { subject in
        subject.transaction.quantity < 1
    }
}
