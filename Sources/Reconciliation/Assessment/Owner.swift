/// To whom a paid transaction is owed, as far as the evidence goes.
public enum Owner: Hashable, Sendable {
    case user(String)
    /// Several users presented it; the likeliest first.
    case ambiguous([String])
    case unknown

    /// The one owner, where there is one.
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
    /// Whose a transaction is. The token that the client set when it was paid decides; without it, all whom anything
    /// speaks for are named, for a delivery to the wrong one can't be taken back.
    init(_ candidates: [OwnerCandidate]) {
        let decided = candidates.filter { $0.evidence.contains(.accountToken) }
        let users = (decided.isEmpty ? candidates : decided).map(\.userID)
        self =
            switch users.count {
            case 0: .unknown
            case 1: .user(users[0])
            default: .ambiguous(users)
            }
    }
}
