import PostgreSQL

/// A seal over a row of a table of the ledger, by the function of the schema that all writers share: what is changed
/// by hand doesn't fit it any more.
struct Seal {
    let table: String
    /// The parameters of the function in their order, each named after its column.
    let columns: [String]

    private static let purchase = [
        "transaction_id", "bundle_id", "environment", "original_transaction_id", "product_id", "quantity",
        "purchased_at", "price_milliunits", "currency",
    ]

    static let white = Seal(table: "white", columns: purchase + ["first_seen_at"])
    static let black = Seal(
        table: "black",
        columns: purchase + ["user_id", "order_id", "delivered_by", "delivered_at", "refunded_at"])
    static let excluded = Seal(
        table: "excluded", columns: purchase + ["reason", "found_bundle_id", "excluded_at"])
    static let claim = Seal(
        table: "claims",
        columns: ["transaction_id", "bundle_id", "user_id", "order_id", "outcome", "attempted_at"])

    /// The seal of what stands in the columns of these names in the query in hand, some of them given by expressions.
    func of(_ expressions: [String: SQL] = [:]) -> SQL {
        function(columns.map { expressions[$0] ?? "\(identifier: $0)" })
    }

    /// The seal of the table's row.
    func ofRow(_ expressions: [String: SQL] = [:]) -> SQL {
        function(columns.map { expressions[$0] ?? "\(identifier: table).\(identifier: $0)" })
    }

    /// For an update of the table: the row's new seal. One that does not fit stays, for its row was changed by hand.
    func renewed(with expressions: [String: SQL]) -> SQL {
        """
        CASE WHEN \(identifier: table).seal = \(ofRow()) THEN \(ofRow(expressions))
            ELSE \(identifier: table).seal END
        """
    }

    private func function(_ arguments: [SQL]) -> SQL {
        let name: SQL = "audit.\(identifier: table == "claims" ? "claim_seal" : "\(table)_seal")"
        let list = arguments.dropFirst().reduce(arguments.first ?? "") { $0 + ", " + $1 }
        return "\(name)(\(list))"
    }
}
