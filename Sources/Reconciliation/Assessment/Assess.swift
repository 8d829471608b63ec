extension Assessment {
    /// Judges a white transaction past its grace from what is known of it. Pure: the same facts give the same
    /// assessment, and why a likelihood was given can be read from the reasons alone.
    public init(of facts: CaseFacts) {
        let reasons = ReasonRule.all.filter { $0.applies(facts) }.map(\.reason)
        let owner = Owner(of: facts)
        self.init(
            likelihood: Self.likelihood(for: reasons), reasons: reasons, owner: owner,
            action: Self.action(for: reasons, owner: owner))
    }

    private static func likelihood(for reasons: [Reason]) -> Likelihood {
        if reasons.contains(.unknownProduct) { return .low }
        return reasons.contains(.ownerAmbiguous) ? .medium : .high
    }

    private static func action(for reasons: [Reason], owner: Owner) -> SuggestedAction {
        if reasons.contains(.unknownProduct) { return .investigate }
        return owner.user == nil ? .contact : .deliver
    }
}
