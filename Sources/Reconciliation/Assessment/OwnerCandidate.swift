/// A user who may be the owner, and why.
public struct OwnerCandidate: Hashable, Sendable, Codable {
    public let userID: String
    /// The strongest first; never empty.
    public let evidence: [Evidence]

    enum CodingKeys: String, CodingKey {
        case userID = "user_id"
        case evidence
    }

    public init(userID: String, evidence: [Evidence]) {
        self.userID = userID
        self.evidence = evidence
    }
}

extension OwnerCandidate {
    /// Every user for whom there is evidence, ordered by the strongest evidence, then by the earliest.
    static func all(in facts: CaseFacts) -> [OwnerCandidate] {
        var found = Gathering()
        for user in facts.tokenOwners { found.add(user, .accountToken) }
        for order in facts.orders where order.bearsToken { found.add(order.userID, .accountToken) }
        // To adopt a purchase is to admit it: that is the support desk's word, not the server's.
        if facts.admittedFor.map(ExactText.init) != facts.adoptedFor.map(ExactText.init) {
            found.add(facts.admittedFor, .admitted)
        }
        for user in facts.admittedOtherwiseFor { found.add(user, .admitted) }
        found.add(facts.adoptedFor, .toldSupport)
        let uploaded = Set((facts.namedOrderIDs + facts.broughtOrderIDs).map(ExactText.init))
        for order in facts.orders where uploaded.contains(ExactText(order.id)) { found.add(order.userID, .order) }
        let sightings = facts.sightings.sorted { ($0.uploadedAt, $0.receiptID) < ($1.uploadedAt, $1.receiptID) }
        for sighting in sightings {
            found.add(sighting.userID, sighting.isNamed ? .uploaded : sighting.isInReceipt ? .carried : .history)
        }
        for mention in facts.mentions { found.add(mention.userID, .mentioned) }
        for claim in facts.claims { found.add(claim.userID, .claimed) }
        for user in facts.companions { found.add(user, .companion) }
        // A genuine receipt leads to the customer's whole history, even if somebody else uploaded it.
        if found.candidates.allSatisfy({ $0.evidence == [.history] }) {
            for user in facts.accountUsers { found.add(user, .account) }
        }
        return found.candidates
    }
}

/// Collects evidence for users, in the order in which they were first named.
private struct Gathering {
    private var users: [String] = []
    private var evidence: [ExactText: Set<Evidence>] = [:]

    mutating func add(_ user: String?, _ kind: Evidence) {
        guard let user else { return }
        let exact = ExactText(user)
        if evidence[exact] == nil { users.append(user) }
        evidence[exact, default: []].insert(kind)
    }

    var candidates: [OwnerCandidate] {
        let candidates = users.map { user in
            OwnerCandidate(userID: user, evidence: (evidence[ExactText(user)] ?? []).sorted())
        }
        let ranked = candidates.enumerated().sorted { a, b in
            let (first, second) = (a.element.evidence[0], b.element.evidence[0])
            return first == second ? a.offset < b.offset : first < second
        }
        return ranked.map(\.element)
    }
}
