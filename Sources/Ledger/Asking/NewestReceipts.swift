public import Foundation
import PostgreSQL
public import Reconciliation

extension LedgerSession {
    /// Has the newest receipt of each of these customers that Apple can be asked about verified again, unless a night
    /// does that anyway, the payload was purged, or that was done lately and since their period expired. If an app has
    /// no key, a receipt is how Apple is asked. A dry run changes nothing.
    ///
    /// - Parameter interval: seconds from one question about a customer to the next.
    /// - Returns: how many receipts are verified again.
    public func verifyNewestReceipts(
        of customers: [DueCustomer], _ app: App, askedEvery interval: TimeInterval, at now: Date
    ) async throws(LedgerError) -> Int {
        guard !isShadowed else { return 0 }
        return try await translating {
            try await connection.transaction {
                let newest = try await newestReceipts(of: customers, app, verifiedBefore: now - interval, at: now)
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

    /// A brace and what follows it in base64, unless that is a line's end, as in a receipt of the iOS 6 style.
    private static let beginningOfJWS = "ey"

    /// The newest receipt of each user who uploaded a purchase of these customers, if it was verified before the
    /// moment, or before the expiry of the customer's period that makes them due. One that can't be used, or a signed
    /// transaction, which has its signature looked at on this machine alone, stands before no older one.
    private func newestReceipts(
        of customers: [DueCustomer], _ app: App, verifiedBefore moment: Date, at now: Date
    ) async throws -> [Row] {
        let users = try await connection.query(
            """
            SELECT user_id, max(due.expires_at) FILTER (WHERE due.expires_at <= \(now)) AS expired_at
            FROM unnest(\(customers.map(\.transactionID)), \(customers.map(\.expiresAt)))
                AS due (transaction_id, expires_at)
            JOIN \(stored: .sightings) USING (transaction_id)
            WHERE bundle_id = \(app.bundleID.text) AND environment = \(app.environment.rawValue)
                AND user_id IS NOT NULL
            GROUP BY user_id
            """)
        guard !users.isEmpty else { return [] }
        let expired: [String: Date?] = try users.values(of: "expired_at", by: "user_id")
        return try await connection.query(
            """
            SELECT user_id, bucket, receipt_id, verified_at
            FROM (
                SELECT DISTINCT ON (user_id) user_id, bucket, receipt_id, state, verified_at
                FROM \(stored: .receipts)
                WHERE user_id = ANY (\(expired.keys.sorted())) AND bundle_id = \(app.bundleID.text)
                    AND payload IS NOT NULL AND verified_at IS NOT NULL AND state <> 'unusable'
                    AND left(payload, 2) <> \(Self.beginningOfJWS)
                ORDER BY user_id, submitted_at DESC, receipt_id DESC
            ) AS newest
            WHERE state = 'settled'
            ORDER BY bucket, receipt_id
            """
        ).filter { row in
            let expiredAt = expired[try row.decode("user_id", as: String.self)] ?? nil
            return try row.decode("verified_at", as: Date.self) < max(moment, expiredAt ?? .distantPast)
        }
    }
}
