/// To whom a paid transaction is owed, as far as the evidence goes.
public enum Owner: Hashable, Sendable {
    case user(String)
    /// Several users presented it; the likeliest first.
    case ambiguous([String])
    case unknown

    /// The one owner, if there is one.
    public var user: String? {
        if case .user(let user) = self { user } else { nil }
    }

    /// Everyone who may be the owner, the likeliest first.
    public var candidates: [String] {
        switch self {
        case .user(let user): [user]
        case .ambiguous(let users): users
        case .unknown: []
        }
    }
}

extension Owner {
    /// Decides whose a transaction is. The token that the client set when it was paid decides over whoever handed it
    /// in, but not over the app's server, the support desk or an order that say otherwise: then `iap.claim` gives it to
    /// nobody. Without a token, everyone for whom there is evidence is named, because a delivery to the wrong user
    /// can't be taken back.
    init(_ candidates: [OwnerCandidate]) {
        let isDecided = candidates.contains { $0.evidence.contains(.accountToken) }
        let deciding: Set<Evidence> = [.accountToken, .admitted, .toldSupport, .order]
        let users = candidates.filter { !isDecided || !deciding.isDisjoint(with: $0.evidence) }.map(\.userID)
        self =
            switch users.count {
            case 0: .unknown
            case 1: .user(users[0])
            default: .ambiguous(users)
            }
    }
}
