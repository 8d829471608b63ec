public import Foundation
import PostgreSQL
public import Reconciliation

/// A customer whom Apple is to be asked about again.
public struct DueCustomer: Hashable, Sendable {
    /// The `appTransactionId`, or the original transaction's id if Apple told of none.
    public let customerID: String
    /// One of their purchases, by which Apple is asked.
    public let transactionID: String
    /// Up to where their history is known.
    public let revision: String?
    /// When the latest period that Apple told of expires or expired; `nil` for a customer without a subscription.
    public let expiresAt: Date?
}

extension LedgerSession {
    /// The customers whom Apple is to be asked about: those who were seen lately, or whose period expired lately; those
    /// who have been waiting longest come first.
    public func dueCustomers(
        of app: App, seenSince since: Date, at now: Date, limit: Int
    ) async throws(LedgerError) -> [DueCustomer] {
        try await translating {
            let rows = try await connection.query(
                """
                SELECT customer_id, transaction_id, revision, expires_at
                FROM iap.customers
                WHERE bundle_id = \(app.bundleID.text) AND environment = \(app.environment.rawValue)
                    AND next_at <= \(now)
                    AND (last_seen_at >= \(since) OR (expires_at >= \(since) AND expires_at <= \(now)))
                ORDER BY next_at, customer_id
                LIMIT \(Int64(limit))
                """)
            return try rows.map { row in
                DueCustomer(
                    customerID: try row.decode("customer_id"), transactionID: try row.decode("transaction_id"),
                    revision: try row.decode("revision"), expiresAt: try row.decode("expires_at"))
            }
        }
    }

    /// Forgets the customers who are due and were not seen for long: whoever comes back is noted again. Who subscribed
    /// for longer than that is due again when the period expires: then Apple may renew it. A dry run forgets nobody.
    public func forgetCustomers(of app: App, notSeenSince since: Date, at now: Date) async throws(LedgerError) {
        guard !isShadowed else { return }
        try await translating {
            let unseen: SQL = """
                bundle_id = \(app.bundleID.text) AND environment = \(app.environment.rawValue)
                    AND next_at <= \(now) AND last_seen_at < \(since)
                """
            _ = try await connection.execute(
                """
                UPDATE iap.customers
                SET next_at = iap.asked_after_expiry(expires_at, \(now))
                WHERE \(unseen) AND expires_at > \(now)
                """)
            _ = try await connection.execute(
                "DELETE FROM iap.customers WHERE \(unseen) AND (expires_at < \(since)) IS NOT FALSE")
        }
    }

    /// The purchases that were delivered before a moment, and for which only the app's server vouches; also those that
    /// were delivered by a clock that was ahead. First come those about which nobody asked yet, then those that have been
    /// waiting longest.
    public func unprovedDeliveries(
        of app: App, before moment: Date, at now: Date, limit: Int
    ) async throws(LedgerError) -> [TransactionKey] {
        try await translating {
            let rows = try await connection.query(
                """
                SELECT transaction_id, bundle_id, environment
                FROM \(stored: .transactions) AS t
                LEFT JOIN LATERAL (
                    SELECT next_at, next_at IS NULL OR next_at > \(now) AS is_settled
                    FROM iap.delivery_checks AS known
                    WHERE known.transaction_id = t.transaction_id AND known.bundle_id = t.bundle_id
                        AND known.environment = t.environment
                    OFFSET 0
                ) AS known ON true
                WHERE bundle_id = \(app.bundleID.text) AND environment = \(app.environment.rawValue)
                    AND place = 'black' AND source = 'app_server' AND delivered_by = 'claim'
                    AND (delivered_at < \(moment) OR delivered_at > \(now) + interval '1 day')
                    AND known.is_settled IS NOT TRUE
                ORDER BY next_at NULLS FIRST, delivered_at, transaction_id
                LIMIT \(Int64(limit))
                """)
            return try rows.map { try TransactionKey($0) }
        }
    }

    /// Notes customers and prices of what entered the ledger since the last time, and customers whose receipts were
    /// handed in again lately. A dry run notes nothing.
    ///
    /// - Parameter reasking: how customers are asked about again; `nil` if none is.
    public func noteEntered(of app: App, reasking: Reasking?, at now: Date) async throws(LedgerError) {
        guard !isShadowed else { return }
        try await translating {
            let again = reasking == nil ? [] : try await receiptsUploadedAgain(of: app, at: now)
            _ = try await connection.query(
                """
                SELECT iap.note_entered(
                    \(app.bundleID.text), \(app.environment.rawValue), make_interval(secs => \(reasking?.interval)),
                    \(reasking?.windowStart(at: now)), \(now),
                    \(try again.map { try $0.decode("receipt_id", as: Int64.self) }),
                    \(try again.map { try $0.decode("uploaded_again_at", as: Date.self) }))
                """)
        }
    }

    /// The receipts of an app that were handed in again lately, and when. It is a query of its own, because a cluster keeps
    /// the receipts elsewhere than the customers.
    private func receiptsUploadedAgain(of app: App, at now: Date) async throws -> [Row] {
        try await connection.query(
            """
            SELECT receipt_id, uploaded_again_at
            FROM \(stored: .receipts)
            WHERE uploaded_again_at > \(now) - interval '2 days' AND bundle_id = \(app.bundleID.text)
            """)
    }
}
