import PostgreSQL

/// A table or view of the ledger that a dry run has a shadow of, named past the shadow: what is stored. Whoever writes
/// the plain name, such as `transactions`, means the shadow in a dry run and the table in any other. A test holds the
/// night's statements to these two.
enum StoredTable: String, CaseIterable {
    case transactions, moves, cases, sightings, connections, runs, events, receipts, notices, hearings
    case deliveredOriginals = "delivered_originals"
    case white, black, excluded, entries
}

extension SQL.StringInterpolation {
    /// The table itself, also where a shadow stands in front of it.
    mutating func appendInterpolation(stored table: StoredTable) {
        appendInterpolation(unsafe: "iap.\(table.rawValue)")
    }
}
