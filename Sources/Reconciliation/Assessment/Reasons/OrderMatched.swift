extension ReasonRule {
    /// Exactly one of the app's own orders can be what it pays for.
    static let orderMatched = ReasonRule { matter in
        if case .one = matter.orders { true } else { false }
    }
}
