extension Owner {
    /// Whose a transaction is, from who uploaded receipts with it and for whom the app's server admitted it. Who
    /// uploaded a receipt for this very transaction comes before who merely carried it along, the earlier before
    /// the later.
    init(of facts: CaseFacts) {
        var candidates: [String] = []
        let sightings = facts.sightings.sorted {
            ($0.isNamed ? 0 : 1, $0.uploadedAt, $0.receiptID) < ($1.isNamed ? 0 : 1, $1.uploadedAt, $1.receiptID)
        }
        for user in [facts.admittedFor] + sightings.map(\.userID) {
            guard let user, !candidates.contains(user) else { continue }
            candidates.append(user)
        }
        self =
            switch candidates.count {
            case 0: .unknown
            case 1: .user(candidates[0])
            default: .ambiguous(candidates)
            }
    }
}
