import PostgreSQL
import Reconciliation

extension LedgerSession {
    /// Adds the uploads for these transactions whose receipts do not hold them. Only receipts that Apple vouches for
    /// count: anybody can name a transaction beside no receipt at all. One transaction id that thousands of uploads
    /// name would fill a page: the first hundred tell enough.
    func addMentions(to page: inout [CaseFacts]) async throws {
        let rows = try await connection.query(
            """
            SELECT
                named.transaction_id, receipt_id, bundle_id, user_id, named.order_id,
                \(Self.isVouchedFor) IS TRUE AS is_vouched_for
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
            WHERE number <= \(Int64(CaseFacts.most + 1)) AND (\(Self.isVouchedFor) OR \(isShadowed))
            ORDER BY named.first_uploaded_at, receipt_id
            """)
        let tried = try await vouchedForByNow(rows)
        var uploads: [NameInApp: [(receiptID: Int64, mention: CaseFacts.Mention)]] = [:]
        for row in rows where try row.decode("is_vouched_for") || tried.contains(row.decode("receipt_id")) {
            let mention = CaseFacts.Mention(
                userID: try row.decode("user_id", as: String?.self),
                orderID: try row.decode("order_id", as: String?.self))
            uploads[try NameInApp(row, "transaction_id"), default: []].append((try row.decode("receipt_id"), mention))
        }
        for index in page.indices {
            let key = page[index].key
            let holding = Set(page[index].sightings.map(\.receiptID))
            let mentions = (uploads[NameInApp(key.bundleID.text, key.id.text)] ?? [])
                .filter { !holding.contains($0.receiptID) }.map(\.mention).unique
            page[index].mentions = Array(mentions.prefix(CaseFacts.most))
            page[index].isCutShort = page[index].isCutShort || mentions.count > CaseFacts.most
        }
    }

    private static let isVouchedFor: SQL = """
        (receipts.verified_at IS NOT NULL
            OR receipts.error_code = ANY (\(ReceiptProblem.allCases.filter(\.isAnswered).map(\.rawValue))))
        """

    /// Those of these receipts that a dry run has verified, of which the stored rows don't tell. It is a query of its
    /// own, because a cluster keeps the receipts elsewhere than their shadow.
    private func vouchedForByNow(_ rows: [Row]) async throws -> Set<Int64> {
        guard isShadowed else { return [] }
        let ids = try rows.map { try $0.decode("receipt_id", as: Int64.self) }
        let tried = try await connection.query(
            "SELECT receipt_id FROM receipts WHERE receipt_id = ANY (\(ids)) AND \(Self.isVouchedFor)")
        return Set(try tried.map { try $0.decode("receipt_id", as: Int64.self) })
    }
}
