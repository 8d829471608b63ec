extension ReasonRule {
    /// The app lists the storefronts in which it sells, and this is none of them: a price may have been paid that was
    /// meant for another country.
    static let unexpectedStorefront = ReasonRule { $0.facts.isStorefrontUnexpected }
}
