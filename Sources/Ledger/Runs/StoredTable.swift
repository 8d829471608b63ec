import PostgreSQL

/// A table or view of the ledger that a dry run has a shadow of, named past the shadow: what is stored. Whoever writes
/// the plain name, such as `transactions`, means the shadow in a dry run and the table in any other. A test holds the
/// night's statements to these two.
enum StoredTable: String, CaseIterable {
    case transactions, moves, cases, sightings, connections, runs, events, receipts, notices, hearings
    case deliveredOriginals = "delivered_originals"
    case untakenOriginals = "untaken_originals"
    case white, black, excluded, entries

    /// The views, whose shadows read the shadows of the tables.
    static let views: [StoredTable] = [.white, .black, .excluded, .entries]

    /// The tables whose shadow is like them. That of the inbox is not: it holds no payloads.
    static let alike = allCases.filter { !views.contains($0) && $0 != .receipts }
}

extension SQL.StringInterpolation {
    /// The table itself, even if a shadow stands in front of it.
    mutating func appendInterpolation(stored table: StoredTable) {
        appendInterpolation(unsafe: "iap.\(table.rawValue)")
    }
}

/// A table or view of which a dry run's shadow holds a part, for statements that want the rest, too.
enum WholeTable: String {
    case transactions, excluded, sightings
}

extension LedgerSession {
    /// All rows of a table, to be given a name: in a dry run the shadow's, and those stored ones that the shadow does
    /// not hold; otherwise the table.
    func whole(_ table: WholeTable) -> SQL {
        guard isShadowed else { return "\(identifier: table.rawValue)" }
        let shadow: (table: SQL, isTheSame: SQL) =
            switch table {
            case .transactions, .excluded: ("transactions", "true")
            case .sightings:
                ("sightings", "shadow.bucket = stored.bucket AND shadow.receipt_id = stored.receipt_id")
            }
        return """
            (
                SELECT * FROM \(identifier: table.rawValue)
                UNION ALL
                SELECT * FROM iap.\(identifier: table.rawValue) AS stored
                WHERE NOT EXISTS (
                    SELECT FROM \(shadow.table) AS shadow
                    WHERE shadow.transaction_id = stored.transaction_id AND shadow.bundle_id = stored.bundle_id
                        AND shadow.environment = stored.environment AND \(shadow.isTheSame))
            )
            """
    }
}
