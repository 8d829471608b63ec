extension PatternRule {
    /// Nothing is delivered any more. If more of the purchases before were delivered than lost, ten in a row are lost
    /// by chance in one app of a thousand.
    static let outage = PatternRule { facts in
        guard let silence = facts.silence, silence.counts.isMany, facts.all.isMostlyDelivered else { return [] }
        return [Pattern(.outage, of: facts.bundleID, from: silence.since, until: nil, silence.counts)]
    }
}
