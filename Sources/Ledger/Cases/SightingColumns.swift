import Foundation
import PostgreSQL
import Reconciliation

/// The columns by which a query over `white` tells in which receipts a transaction was seen, and which claims of it
/// failed. One receipt passed around among thousands would fill a page: the first `CaseFacts.most` sightings tell
/// enough, and as many of the latest claims. One more is read to see whether there are more.
enum SightingColumns {
    private static let most = Int64(CaseFacts.most + 1)

    static let select: SQL =
        """
        seen.receipt_ids, seen.user_ids, seen.order_ids, seen.named, seen.held, seen.uploaded,
        claimed.outcomes, claimed.claim_user_ids, claimed.claim_order_ids, claimed.attempted
        """

    static let join: SQL =
        """
        LEFT JOIN LATERAL (
            SELECT
                array_agg(receipt_id) AS receipt_ids, array_agg(user_id) AS user_ids,
                array_agg(order_id) AS order_ids, array_agg(is_named) AS named,
                array_agg(in_receipt) AS held,
                array_agg(uploaded_at) AS uploaded
            FROM (
                SELECT receipt_id, user_id, order_id, is_named, in_receipt, uploaded_at
                FROM sightings
                WHERE sightings.transaction_id = white.transaction_id AND sightings.bundle_id = white.bundle_id
                    AND sightings.environment = white.environment
                ORDER BY is_named DESC, uploaded_at, receipt_id
                LIMIT \(most)
            ) AS first_seen
        ) AS seen ON true
        LEFT JOIN LATERAL (
            SELECT
                array_agg(outcome ORDER BY claim_id) AS outcomes, array_agg(user_id ORDER BY claim_id) AS claim_user_ids,
                array_agg(order_id ORDER BY claim_id) AS claim_order_ids,
                array_agg(attempted_at ORDER BY claim_id) AS attempted
            FROM (
                SELECT claim_id, outcome, user_id, order_id, attempted_at
                FROM claims
                WHERE claims.transaction_id = white.transaction_id AND claims.bundle_id = white.bundle_id
                    AND claims.outcome <> 'delivered'
                ORDER BY claim_id DESC
                LIMIT \(most)
            ) AS latest
        ) AS claimed ON true
        """

    /// Whether there is more than `sightings` and `claims` give.
    static func isCutShort(_ row: Row) throws -> Bool {
        let counts = [
            try row.decode("receipt_ids", as: [Int64]?.self)?.count,
            try row.decode("outcomes", as: [String]?.self)?.count,
        ]
        return counts.contains { ($0 ?? 0) > CaseFacts.most }
    }

    static func sightings(_ row: Row) throws -> [Sighting] {
        let receipts = try row.decode("receipt_ids", as: [Int64]?.self) ?? []
        guard !receipts.isEmpty else { return [] }
        let users = try row.decode("user_ids", as: [String?].self)
        let orders = try row.decode("order_ids", as: [String?].self)
        let named = try row.decode("named", as: [Bool].self)
        let held = try row.decode("held", as: [Bool].self)
        let uploaded = try row.decode("uploaded", as: [Date].self)
        return receipts.indices.prefix(CaseFacts.most).map { index in
            Sighting(
                receiptID: receipts[index], userID: users[index], orderID: orders[index], isNamed: named[index],
                isInReceipt: held[index], uploadedAt: uploaded[index])
        }
    }

    static func claims(_ row: Row) throws -> [ClaimAttempt] {
        let outcomes = try row.decode("outcomes", as: [String]?.self) ?? []
        guard !outcomes.isEmpty else { return [] }
        let users = try row.decode("claim_user_ids", as: [String].self)
        let orders = try row.decode("claim_order_ids", as: [String?].self)
        let attempted = try row.decode("attempted", as: [Date].self)
        return try outcomes.indices.suffix(CaseFacts.most).map { index in
            ClaimAttempt(
                outcome: try row.known(outcomes[index], in: "outcomes"), userID: users[index], orderID: orders[index],
                attemptedAt: attempted[index])
        }
    }
}
