import PostgreSQL
public import Reconciliation

/// Which transactions of the same first purchase the ledger holds.
public struct KnownOriginals: Sendable {
    /// A first purchase in an app and environment.
    public struct Original: Hashable, Sendable {
        public let id: TransactionID
        public let bundleID: BundleID
        public let environment: Environment

        public init(id: TransactionID, bundleID: BundleID, environment: Environment) {
            self.id = id
            self.bundleID = bundleID
            self.environment = environment
        }
    }

    var delivered: [Original: Set<TransactionID>] = [:]
    var white: [Original: Set<TransactionID>] = [:]

    public init() {}

    /// Whether a purchase is known under another id than this one. Of several that wait, one stands for all: the
    /// original if it waits, else the one with the lowest id. `presented` are those of the batch in hand.
    public func isKnown(_ original: Original, besides id: TransactionID, presented: Set<TransactionID>) -> Bool {
        if let delivered = delivered[original], delivered.contains(where: { $0 != id }) { return true }
        let waiting = white[original] ?? presented
        let standsForAll = waiting.contains(original.id) ? original.id : waiting.min()
        return standsForAll.map { $0 != id } ?? false
    }
}

extension LedgerSession {
    /// What the ledger holds of these first purchases. One look-up by index for each table, which on a distributed
    /// ledger needs no join across shards.
    public func known(_ originals: Set<KnownOriginals.Original>) async throws(LedgerError) -> KnownOriginals {
        var known = KnownOriginals()
        guard !originals.isEmpty else { return known }
        let ids = Set(originals.map(\.id.text)).sorted()
        known.delivered = try await transactions(
            "SELECT transaction_id, original_transaction_id, bundle_id, environment FROM iap.black", of: ids)
        known.white = try await transactions(
            "SELECT transaction_id, original_transaction_id, bundle_id, environment FROM white", of: ids)
        return known
    }

    private func transactions(
        _ select: SQL, of ids: [String]
    ) async throws(LedgerError) -> [KnownOriginals.Original: Set<TransactionID>] {
        try await translating {
            let rows = try await connection.query("\(select) WHERE original_transaction_id = ANY (\(ids))")
            var found: [KnownOriginals.Original: Set<TransactionID>] = [:]
            for row in rows {
                let key = try TransactionKey(row)
                let original = KnownOriginals.Original(
                    id: try row.id("original_transaction_id"), bundleID: key.bundleID,
                    environment: key.environment)
                found[original, default: []].insert(key.id)
            }
            return found
        }
    }
}
