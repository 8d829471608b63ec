import PostgreSQL

/// The seal of a receipt's row, as statements that change the row write it.
enum ReceiptSeal {
    /// The seal of a row after an update that gives some of its columns other values. A seal that does not fit stays,
    /// for its row was changed by hand.
    ///
    /// - Parameter row: the name of the row in the statement.
    static func renewed(
        of row: SQL, orderID: SQL? = nil, transactionID: SQL? = nil, submittedAt: SQL? = nil, state: SQL? = nil
    ) -> SQL {
        let before = seal(of: row, orderID: nil, transactionID: nil, submittedAt: nil, state: nil)
        let after = seal(
            of: row, orderID: orderID, transactionID: transactionID, submittedAt: submittedAt, state: state)
        return "CASE WHEN \(row).seal = \(before) THEN \(after) ELSE \(row).seal END"
    }

    private static func seal(
        of row: SQL, orderID: SQL?, transactionID: SQL?, submittedAt: SQL?, state: SQL?
    ) -> SQL {
        let orderID: SQL = orderID ?? "\(row).order_id"
        let transactionID: SQL = transactionID ?? "\(row).transaction_id"
        let submittedAt: SQL = submittedAt ?? "\(row).submitted_at"
        let state: SQL = state ?? "\(row).state"
        return """
            audit.receipt_seal(
                \(row).bucket, \(row).receipt_id, \(row).bundle_id, \(row).user_id, \(row).payload_sha256, \(orderID),
                \(transactionID), \(submittedAt), \(state), \(row).is_erased)
            """
    }
}
