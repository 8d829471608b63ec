extension Assessment {
    /// Judges a white transaction past its grace from what is known of it. Pure: the same facts give the same
    /// assessment, and why a likelihood was given can be read from the reasons alone.
    ///
    /// - Parameter isTaken: whether another transaction pays for an order.
    public init(of facts: CaseFacts, isTaken: (String) -> Bool = { _ in false }) {
        let candidates = OwnerCandidate.all(in: facts)
        let owner = Owner(candidates)
        let orders = OrderMatch(of: facts, users: owner.candidates, isTaken: isTaken)
        let matter = CaseMatter(facts: facts, owner: owner, orders: orders)
        let reasons = Reason.all(in: matter)
        let likelihood = Self.likelihood(for: reasons)
        self.init(
            likelihood: likelihood, reasons: reasons,
            owner: Self.mayBeNamed(likelihood, reasons) ? owner : .unknown, candidates: candidates,
            orderIDs: orders.orderIDs,
            action: Self.action(
                for: reasons, owner: owner, isFirstNight: facts.nightsConfirmed <= 1 && !facts.wasCaseBefore))
    }

    /// A case that is certainly lost because the customer told Apple so names no uncertain owner: whoever reads it
    /// would deliver to them. They stay among the candidates.
    private static func mayBeNamed(_ likelihood: Likelihood, _ reasons: [Reason]) -> Bool {
        likelihood != .high || !reasons.contains(.ownerUncertain)
    }

    private static func likelihood(for reasons: [Reason]) -> Likelihood {
        if reasons.contains(.unknownProduct) { return .low }
        // Nothing was paid, or the customer has long been served.
        if reasons.contains(.trialOnly) || reasons.contains(.grantedLate) { return .low }
        // The customer said so.
        if reasons.contains(.withoutAccess) || reasons.contains(.askedApple) { return .high }
        if reasons.contains(.accessGap) { return .medium }
        // The client has let go of it: nothing that comes later mends that.
        let isFinal = reasons.contains(.finishedUndelivered)
        if reasons.contains(.ownerAmbiguous) || reasons.contains(.ownerUncertain) { return .medium }
        if reasons.contains(.mayStillArrive), !isFinal { return .medium }
        return .high
    }

    /// A claim after a delivery by hand is refused, so nothing is risked by delivering early; but on the first night
    /// nearly everything still mends itself.
    private static func action(for reasons: [Reason], owner: Owner, isFirstNight: Bool) -> SuggestedAction {
        if reasons.contains(.unknownProduct) || reasons.contains(.unexpectedStorefront) { return .investigate }
        if owner.candidates.count >= 3 { return .lookOut }
        let mayMendItself = reasons.contains(.mayStillArrive) && !reasons.contains(.askedApple)
        if isFirstNight, mayMendItself, !reasons.contains(.finishedUndelivered) { return .wait }
        return owner.user == nil || reasons.contains(.ownerUncertain) ? .contact : .deliver
    }
}
