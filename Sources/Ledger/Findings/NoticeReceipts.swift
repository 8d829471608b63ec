import PostgreSQL
import Reconciliation

/// A purchase beside the receipts in which it was seen.
protocol SeenPurchase {
    var key: TransactionKey { get }
    var sightings: [Sighting] { get set }
}

extension ReportedCase: SeenPurchase {}
extension KnownTransaction: SeenPurchase {}

extension LedgerSession {
    /// What only Apple told of was uploaded by nobody, though it lies in the inbox as a receipt.
    func leaveOutNotices(from purchases: inout [some SeenPurchase]) async throws {
        let handedInByNobody = purchases.filter { $0.sightings.contains { $0.userID == nil } }
        let notices = try await noticeReceipts(of: handedInByNobody.map(\.key.id))
        for index in purchases.indices {
            guard let receipts = notices[purchases[index].key] else { continue }
            purchases[index].sightings.removeAll { receipts.contains($0.receiptID) }
        }
    }

    /// The receipts as which was handed in what Apple told of by itself: nobody uploaded them.
    private func noticeReceipts(of ids: [TransactionID]) async throws -> [TransactionKey: Set<Int64>] {
        guard !ids.isEmpty else { return [:] }
        let rows = try await connection.query(
            """
            SELECT transaction_id, bundle_id, environment, array_agg(receipt_id) AS receipt_ids
            FROM \(stored: .notices)
            WHERE transaction_id = ANY (\(ids.map(\.text))) AND receipt_id IS NOT NULL
            GROUP BY transaction_id, bundle_id, environment
            """)
        return try Dictionary(
            rows.map { (try TransactionKey($0), Set(try $0.decode("receipt_ids", as: [Int64].self))) },
            uniquingKeysWith: { first, _ in first })
    }
}
