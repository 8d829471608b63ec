import Foundation

/// Which of the app's own orders a transaction pays for, as far as can be told.
enum OrderMatch: Hashable {
    case none
    case one(String)
    /// Several may be it; the likeliest first.
    case several([String])

    /// Client and store clocks differ, and a purchase in the repeated hour at the end of daylight saving has been dated
    /// an hour late.
    private static let slack: TimeInterval = 2 * 3600

    /// Matches by the token that the client set when it was paid; otherwise by the order that came with a receipt for
    /// this very transaction; otherwise by user, product and time, and of these one that came with a receipt for
    /// nothing in particular. An order that another transaction pays for, or was delivered for, is out of the question.
    init(of facts: CaseFacts, users: [String], isTaken: (String) -> Bool) {
        let free = facts.orders.filter { !isTaken($0.id) }
        let named = facts.namedOrderIDs + facts.claims.compactMap(\.orderID)
        let byToken = free.filter(\.bearsToken).map(\.id)
        let byName = named.filter { !isTaken($0) && !facts.usedOrderIDs.containsExactly($0) }
        let meant = byToken.isEmpty ? byName : byToken
        guard meant.isEmpty else {
            self.init(meant)
            return
        }
        let byTime = Self.byTime(free.filter { $0.fits && users.containsExactly($0.userID) }, facts)
        let brought = byTime.filter(facts.broughtOrderIDs.containsExactly)
        self.init(brought.isEmpty ? byTime : brought)
    }

    private init(_ candidates: [String]) {
        let unique = candidates.exactlyUnique
        self = unique.count > 1 ? .several(unique) : unique.first.map(OrderMatch.one) ?? .none
    }

    /// Clients that order first open the order before the purchase, and the newest is the likeliest. Those that pay
    /// first open it afterwards, and the earliest is the likeliest.
    private static func byTime(_ orders: [CaseFacts.Order], _ facts: CaseFacts) -> [String] {
        let limit = facts.purchasedAt + slack
        let before = orders.filter { $0.createdAt <= limit }.sorted { $0.createdAt > $1.createdAt }
        let after = orders.filter { $0.createdAt > limit }.sorted { $0.createdAt < $1.createdAt }
        return (before.isEmpty ? after : before).map(\.id)
    }

    /// The orders that it may pay for, the likeliest first.
    var orderIDs: [String] {
        switch self {
        case .none: []
        case .one(let id): [id]
        case .several(let ids): ids
        }
    }
}
