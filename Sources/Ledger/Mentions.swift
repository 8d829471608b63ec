import PostgreSQL
import Reconciliation

/// For which transactions receipts were uploaded, held or not.
struct Mentions {
    private struct Upload {
        let receiptID: Int64
        let mention: CaseFacts.Mention
    }

    private var uploads: [[String]: [Upload]] = [:]

    mutating func add(_ row: Row) throws {
        let key: [String] = [try row.decode("transaction_id"), try row.decode("bundle_id")]
        let mention = CaseFacts.Mention(
            userID: try row.decode("user_id", as: String?.self), orderID: try row.decode("order_id", as: String?.self))
        uploads[key, default: []].append(Upload(receiptID: try row.decode("receipt_id"), mention: mention))
    }

    func of(_ facts: CaseFacts) -> [CaseFacts.Mention] {
        let holding = Set(facts.sightings.map(\.receiptID))
        return (uploads[[facts.key.id.text, facts.key.bundleID.text]] ?? [])
            .filter { !holding.contains($0.receiptID) }
            .map(\.mention).unique
    }
}

extension LedgerSession {
    /// Only receipts that Apple vouches for count: anybody can name a transaction beside what is none. One transaction id
    /// that thousands of uploads name would fill a page: the first hundred tell enough.
    func mentions(of page: [CaseFacts]) async throws -> Mentions {
        let rows = try await connection.query(
            """
            SELECT named.transaction_id, receipt_id, bundle_id, user_id, named.order_id
            FROM (
                SELECT
                    bucket, receipt_id, transaction_id, order_id, first_uploaded_at,
                    row_number() OVER (
                        PARTITION BY bucket, transaction_id
                        ORDER BY first_uploaded_at, receipt_id) AS number
                FROM iap.uploads
                WHERE transaction_id = ANY (\(page.map(\.key.id.text)))
            ) AS named
            JOIN iap.receipts USING (bucket, receipt_id)
            WHERE number <= 100
                AND (receipts.verified_at IS NOT NULL OR receipts.error_code = 'no_transactions')
            ORDER BY named.first_uploaded_at, receipt_id
            """)
        var mentions = Mentions()
        for row in rows { try mentions.add(row) }
        return mentions
    }
}
