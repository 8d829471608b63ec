extension PatternRule {
    /// A product that the app's server does not know, or whose purchases it forgets.
    static let productNeverDelivered = PatternRule { facts in
        facts.products.compactMap { productID, share in
            guard share.counts.delivered == 0, share.counts.standsOut(from: share.others) else { return nil }
            return Pattern(
                .product(productID), of: facts.bundleID, from: facts.from, until: facts.until, share.counts)
        }
    }
}
