/// What a reason looks at: the facts of a case, and what was concluded from them before.
struct CaseMatter: Sendable {
    let facts: CaseFacts
    let owner: Owner
    let orders: OrderMatch
}

/// The condition for one reason.
struct ReasonRule: Sendable {
    let applies: @Sendable (CaseMatter) -> Bool

    init(_ applies: @escaping @Sendable (CaseMatter) -> Bool) {
        self.applies = applies
    }
}

extension Reason {
    /// Every reason that applies.
    static func all(in matter: CaseMatter) -> [Reason] { allCases.filter { $0.rule.applies(matter) } }

    private var rule: ReasonRule {
        switch self {
        case .withoutAccess: .withoutAccess
        case .accessGap: .accessGap
        case .grantedLate: .grantedLate
        case .trialOnly: .trialOnly
        case .claimFailed: .claimFailed
        case .neverClaimed: .neverClaimed
        case .finishedUndelivered: .finishedUndelivered
        case .askedApple: .askedApple
        case .onlyAppleTold: .onlyAppleTold
        case .noReceipt: .noReceipt
        case .rodeAlong: .rodeAlong
        case .orderMatched: .orderMatched
        case .orderAmbiguous: .orderAmbiguous
        case .ownerAmbiguous: .ownerAmbiguous
        case .ownerUncertain: .ownerUncertain
        case .mayStillArrive: .mayStillArrive
        case .cutShort: .cutShort
        case .unexpectedStorefront: .unexpectedStorefront
        case .unknownProduct: .unknownProduct
        }
    }
}
