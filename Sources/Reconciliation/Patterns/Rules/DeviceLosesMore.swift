extension PatternRule {
    /// For example a version of the app that does not upload, or a system on which it is killed.
    static let deviceLosesMore = PatternRule { facts in
        facts.traits.flatMap { trait, values in
            values.compactMap { value, share in
                guard share.counts.standsOut(from: share.others) else { return nil }
                return Pattern(
                    .device(trait, value), of: facts.bundleID, from: facts.from, until: facts.until, share.counts)
            }
        }
    }
}
