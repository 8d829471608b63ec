/// One reason for which a transaction is a case, and the condition for it.
struct ReasonRule: Sendable {
    let reason: Reason
    let applies: @Sendable (CaseFacts) -> Bool

    init(_ reason: Reason, applies: @escaping @Sendable (CaseFacts) -> Bool) {
        self.reason = reason
        self.applies = applies
    }

    /// Every rule, in the order in which support staff should read the reasons. `neverClaimed` and `claimFailed`
    /// are each other's opposite, so a case always has a reason.
    static let all: [ReasonRule] = [
        .claimFailed, .neverClaimed, .noReceipt, .rodeAlong, .ownerAmbiguous, .unknownProduct,
    ]
}
