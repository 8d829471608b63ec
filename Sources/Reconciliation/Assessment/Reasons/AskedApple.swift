extension ReasonRule {
    /// A `CONSUMPTION_REQUEST` with `FULFILLMENT_ISSUE`: the customer asks for the money back because nothing came.
    /// Apple decides by what the app's server answers within twelve hours.
    static let askedApple = ReasonRule { $0.facts.notices.askedAt != nil }
}
