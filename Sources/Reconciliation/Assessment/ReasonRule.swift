/// What a reason looks at: the facts of a case, and what was made of them before.
struct CaseMatter: Sendable {
    let facts: CaseFacts
    let owner: Owner
    let orders: OrderMatch
}

/// One reason for which a transaction is a case, and the condition for it.
struct ReasonRule: Sendable {
    let reason: Reason
    let applies: @Sendable (CaseMatter) -> Bool

    init(_ reason: Reason, applies: @escaping @Sendable (CaseMatter) -> Bool) {
        self.reason = reason
        self.applies = applies
    }

    /// Every rule, in the order in which support staff should read the reasons. A subscription has
    /// one of the first four; of anything else `neverClaimed` and `claimFailed` are each other's opposite, so a case
    /// always has a reason.
    static let all: [ReasonRule] = [
        .withoutAccess, .accessGap, .grantedLate, .trialOnly, .claimFailed, .neverClaimed, .finishedUndelivered,
        .askedApple, .onlyAppleTold, .noReceipt, .rodeAlong, .orderMatched, .orderAmbiguous, .ownerAmbiguous,
        .ownerUncertain, .mayStillArrive, .cutShort, .unexpectedStorefront, .unknownProduct,
    ]
}
