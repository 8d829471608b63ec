extension ReasonRule {
    /// Evidence beyond what a case holds was not looked at: whoever decides should know.
    static let cutShort = ReasonRule { $0.facts.isCutShort }
}
