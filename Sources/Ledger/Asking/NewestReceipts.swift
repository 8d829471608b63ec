public import Foundation
import PostgreSQL
public import Reconciliation

extension LedgerSession {
    /// Has the newest settled receipt of each of these customers verified again, unless that was done lately or the
    /// payload was purged: where an app has no key, a receipt is how Apple is asked. A dry run changes nothing.
    ///
    /// - Parameter interval: seconds from one question about a customer to the next.
    /// - Returns: how many receipts are verified again.
    public func verifyNewestReceipts(
        of customers: [DueCustomer], _ app: App, askedEvery interval: TimeInterval, at now: Date
    ) async throws(LedgerError) -> Int {
        guard !isShadowed else { return 0 }
        return try await translating {
            try await connection.transaction {
                let newest = try await newestReceipts(of: customers, app, verifiedBefore: now - interval)
                let count = newest.isEmpty ? 0 : try await watchAgain(newest, at: now)
                _ = try await connection.query(
                    """
                    SELECT iap.note_answers(
                        \(app.bundleID.text), \(app.environment.rawValue), \(customers.map(\.customerID)),
                        \(customers.map { _ in String?.none }), \(customers.map { _ in String?.none }),
                        \(customers.map { _ in Date?.none }), make_interval(secs => \(interval)), \(now))
                    """)
                return count
            }
        }
    }

    /// Of the users who uploaded a purchase of these customers, each one's newest receipt.
    private func newestReceipts(
        of customers: [DueCustomer], _ app: App, verifiedBefore moment: Date
    ) async throws -> [Row] {
        let users = try await connection.query(
            """
            SELECT DISTINCT user_id
            FROM \(stored: .sightings)
            WHERE transaction_id = ANY (\(customers.map(\.transactionID))) AND bundle_id = \(app.bundleID.text)
                AND environment = \(app.environment.rawValue) AND user_id IS NOT NULL
            """
        ).map { try $0.decode("user_id", as: String.self) }
        guard !users.isEmpty else { return [] }
        return try await connection.query(
            """
            SELECT bucket, receipt_id
            FROM (
                SELECT DISTINCT ON (user_id) bucket, receipt_id, state, verified_at
                FROM \(stored: .receipts)
                WHERE user_id = ANY (\(users)) AND bundle_id = \(app.bundleID.text)
                    AND payload IS NOT NULL AND verified_at IS NOT NULL
                ORDER BY user_id, submitted_at DESC, receipt_id DESC
            ) AS newest
            WHERE state = 'settled' AND verified_at < \(moment)
            ORDER BY bucket, receipt_id
            """)
    }
}
