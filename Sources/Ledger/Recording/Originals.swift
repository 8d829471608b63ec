import PostgreSQL
public import Reconciliation

/// Which transactions of the same purchase the ledger holds.
public struct KnownOriginals: Sendable {
    /// A purchase in an app and environment that may come under several ids.
    public struct Original: Hashable, Sendable {
        public let id: TransactionID
        public let bundleID: BundleID
        public let environment: Environment
        /// The period of a subscription, by its `web_order_line_item_id`, which stays the same when it is restored.
        public let period: String?

        public init(id: TransactionID, bundleID: BundleID, environment: Environment, period: String? = nil) {
            self.id = id
            self.bundleID = bundleID
            self.environment = environment
            self.period = period
        }
    }

    /// What was delivered or refunded, and so is owed under no id.
    var ended: [Original: Set<TransactionID>] = [:]
    var white: [Original: Set<TransactionID>] = [:]

    /// Whether a purchase is known under another id than this one. Of several that wait, one stands for all: the
    /// original if it waits, otherwise the one with the lowest id. `presented` are those of the batch in hand.
    public func isKnown(_ original: Original, besides id: TransactionID, presented: Set<TransactionID>) -> Bool {
        if let ended = ended[original], ended.contains(where: { $0 != id }) { return true }
        let waiting = white[original] ?? presented
        let standsForAll = waiting.contains(original.id) ? original.id : waiting.min()
        return standsForAll.map { $0 != id } ?? false
    }
}

extension LedgerSession {
    /// What the ledger holds of these purchases, by two indexes: most are their own originals.
    public func known(_ originals: Set<KnownOriginals.Original>) async throws(LedgerError) -> KnownOriginals {
        var known = KnownOriginals()
        guard !originals.isEmpty else { return known }
        let ids = Set(originals.map(\.id.text)).sorted()
        // What a family shares was another purchase.
        let isKnown: SQL = """
            (NOT is_family_shared AND (place IN ('black', 'white') OR refunded_at IS NOT NULL))
            """
        try await translating {
            let rows = try await connection.query(
                """
                SELECT
                    transaction_id, original_transaction_id, bundle_id, environment, place, web_order_line_item_id
                FROM \(whole(.transactions)) AS held
                WHERE transaction_id = ANY (\(ids)) AND original_transaction_id = transaction_id AND \(isKnown)
                UNION ALL
                SELECT
                    transaction_id, original_transaction_id, bundle_id, environment, place, web_order_line_item_id
                FROM \(whole(.transactions)) AS held
                WHERE original_transaction_id = ANY (\(ids)) AND original_transaction_id <> transaction_id
                    AND \(isKnown)
                """)
            for row in rows { try known.add(row, of: originals) }
        }
        return known
    }
}

extension KnownOriginals {
    /// Adds it both as what is bought once and as a period, whichever was asked for.
    fileprivate mutating func add(_ row: Row, of originals: Set<Original>) throws {
        let key = try TransactionKey(row)
        let id: TransactionID = try row.id("original_transaction_id")
        let isWhite = try row.decode("place", as: String.self) == "white"
        let period = try row.decode("web_order_line_item_id", as: String?.self)
        for period in Set([nil, period]) {
            let original = Original(
                id: id, bundleID: key.bundleID, environment: key.environment, period: period)
            guard originals.contains(original) else { continue }
            if isWhite {
                white[original, default: []].insert(key.id)
            } else {
                ended[original, default: []].insert(key.id)
            }
        }
    }
}
