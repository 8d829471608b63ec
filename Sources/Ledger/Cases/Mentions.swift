import PostgreSQL
import Reconciliation

extension LedgerSession {
    /// For which transactions receipts were uploaded that do not hold them. Only receipts that Apple vouches for count:
    /// anybody can name a transaction beside what is none. One transaction id that thousands of uploads name would fill
    /// a page: the first hundred tell enough.
    func addMentions(to page: inout [CaseFacts]) async throws {
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
            JOIN \(stored: .receipts) USING (bucket, receipt_id)
            WHERE number <= \(Int64(CaseFacts.most + 1))
                AND (receipts.verified_at IS NOT NULL OR receipts.error_code = 'no_transactions')
            ORDER BY named.first_uploaded_at, receipt_id
            """)
        var uploads: [[String]: [(receiptID: Int64, mention: CaseFacts.Mention)]] = [:]
        for row in rows {
            let mention = CaseFacts.Mention(
                userID: try row.decode("user_id", as: String?.self),
                orderID: try row.decode("order_id", as: String?.self))
            uploads[[try row.decode("transaction_id"), try row.decode("bundle_id")], default: []]
                .append((try row.decode("receipt_id"), mention))
        }
        for index in page.indices {
            let key = page[index].key
            let holding = Set(page[index].sightings.map(\.receiptID))
            let mentions = (uploads[[key.id.text, key.bundleID.text]] ?? [])
                .filter { !holding.contains($0.receiptID) }.map(\.mention).unique
            page[index].mentions = Array(mentions.prefix(CaseFacts.most))
            page[index].isCutShort = page[index].isCutShort || mentions.count > CaseFacts.most
        }
    }
}
