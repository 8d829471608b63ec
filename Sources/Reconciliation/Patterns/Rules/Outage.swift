extension PatternRule {
    /// Nothing is delivered any more. That ten purchases in a row are lost by chance, where of those before more were
    /// delivered than lost, happens to one app in a thousand.
    static let outage = PatternRule { facts in
        guard let silence = facts.silence, silence.counts.isMany, facts.all.isMostlyDelivered else { return [] }
        return [Pattern(.outage, of: facts.bundleID, from: silence.since, until: nil, silence.counts)]
    }
}
