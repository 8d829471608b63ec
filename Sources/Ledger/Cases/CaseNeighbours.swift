import PostgreSQL
import Reconciliation

/// For each receipt in which cases were seen, whether it was uploaded for one of its purchases, and to whom its
/// purchases were delivered.
struct CaseNeighbours {
    /// How many users tell enough of a case.
    private static let mostUsers = 10
    /// How many receipts are kept at once: the cases of one receipt lie on many pages.
    private static let mostReceipts = 20_000
    /// A receipt that tells of more is looked up once in a sweep, on however many pages its cases lie.
    private static let manyTransactions = 1000

    private struct ReceiptMention {
        var isNamed = false
        var users: [String] = []
        var transactions = 0
    }

    private var told: [Int64: ReceiptMention] = [:]

    /// Whether each receipt that held it was uploaded for another purchase.
    func onlyCameWithOthers(_ facts: CaseFacts) -> Bool {
        let held = facts.sightings.filter(\.isInReceipt)
        return !held.isEmpty && held.allSatisfy { !$0.isNamed && told[$0.receiptID]?.isNamed == true }
    }

    /// The users to whom other purchases of a case's receipts were delivered; at most ten.
    func users(beside facts: CaseFacts) -> [String] {
        let users = Self.telling(facts).flatMap { told[$0.receiptID]?.users ?? [] }
        return Array(users.exactlyUnique.prefix(Self.mostUsers))
    }

    /// The sightings whose receipts tell of a case's owner: those that held it or, if none did, those by which Apple
    /// was asked and told of it.
    private static func telling(_ facts: CaseFacts) -> [Sighting] {
        let held = facts.sightings.filter(\.isInReceipt)
        return held.isEmpty ? facts.sightings : held
    }

    mutating func look(beside page: [CaseFacts], in session: LedgerSession) async throws {
        if told.count > Self.mostReceipts { told = told.filter { $0.value.transactions >= Self.manyTransactions } }
        let receiptIDs = Set(page.flatMap { Self.telling($0).map(\.receiptID) })
            .subtracting(told.keys).sorted()
        guard !receiptIDs.isEmpty else { return }
        // What was neither named nor delivered tells nothing: that is most of a receipt with years of purchases.
        let rows = try await session.connection.query(
            """
            SELECT
                receipt_id, delivered.user_id, bool_or(is_named) AS is_named, count(*) AS transactions
            FROM \(session.whole(.sightings)) AS sightings
            LEFT JOIN LATERAL (
                SELECT user_id
                FROM \(session.whole(.transactions)) AS t
                WHERE t.transaction_id = sightings.transaction_id AND t.bundle_id = sightings.bundle_id
                    AND t.environment = sightings.environment AND t.place = 'black'
                OFFSET 0
            ) AS delivered ON true
            WHERE receipt_id = ANY (\(receiptIDs)) AND in_receipt
            GROUP BY receipt_id, delivered.user_id
            ORDER BY receipt_id, delivered.user_id
            """)
        for row in rows {
            let id = try row.decode("receipt_id", as: Int64.self)
            var receipt = told[id, default: ReceiptMention()]
            receipt.isNamed = try row.decode("is_named") || receipt.isNamed
            receipt.transactions += try row.decode("transactions", as: Int.self)
            if receipt.users.count < Self.mostUsers, let user = try row.decode("user_id", as: String?.self) {
                receipt.users.append(user)
            }
            told[id] = receipt
        }
    }
}
