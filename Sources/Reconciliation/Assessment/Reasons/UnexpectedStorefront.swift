extension ReasonRule {
    /// The app lists the storefronts in which it sells, and this is none of them: the price may have been meant for
    /// another country.
    static let unexpectedStorefront = ReasonRule { $0.facts.isStorefrontUnexpected }
}
