extension ReasonRule {
    /// The user opened several orders for the product, and paid one.
    static let orderAmbiguous = ReasonRule { matter in
        if case .several = matter.orders { true } else { false }
    }
}
