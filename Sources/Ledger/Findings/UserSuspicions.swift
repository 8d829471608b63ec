import Foundation
import PostgreSQL
import Reconciliation

/// Deliveries and claims in which more than one user has a part.
extension LedgerSession {
    /// Deliveries for which another's order was named, that bear another's token, or that another uploaded first: what
    /// finance is told of, and of testers as well.
    func forEachMisdelivery(since: Date, _ body: (Suspicion) throws -> Void) async throws {
        try await connection.forEachRow(
            """
            WITH disputed AS (
                \(Self.disputed(since: since))
            )
            SELECT
                transaction_id, bundle_id, environment, product_id, delivered_at AS first_seen_at, delivered_to,
                likely_bought_by, ARRAY[likely_bought_by, delivered_to] AS user_ids
            FROM disputed
            JOIN iap.misdelivered USING (transaction_id, bundle_id, environment)
            ORDER BY delivered_at, transaction_id, bundle_id
            """
        ) { row in
            let served = try row.decode("delivered_to", as: String.self)
            let likely = try row.decode("likely_bought_by", as: String.self)
            try body(try Suspicion(row, .misdelivery, detail: "delivered to \(served), likely bought by \(likely)"))
        }
    }

    /// The deliveries for which anything names somebody else. Nearly all name nobody, and are left out before the rest
    /// is looked up one by one.
    private static func disputed(since: Date) -> SQL {
        """
        SELECT transaction_id, bundle_id, environment
        FROM \(stored: .black)
        JOIN iap.orders USING (bundle_id, order_id)
        WHERE delivered_at >= \(since) AND delivered_by IN ('claim', 'import') AND orders.user_id <> black.user_id
        UNION
        SELECT transaction_id, bundle_id, environment
        FROM \(stored: .black)
        JOIN \(stored: .sightings) USING (transaction_id, bundle_id, environment)
        WHERE delivered_at >= \(since) AND delivered_by = 'claim' AND sightings.user_id <> black.user_id
        UNION
        -- Whose the upload is does not matter: its order is another's.
        SELECT transaction_id, black.bundle_id, black.environment
        FROM \(stored: .black)
        JOIN \(stored: .sightings) USING (transaction_id, bundle_id, environment)
        JOIN iap.orders ON orders.bundle_id = black.bundle_id AND orders.order_id = sightings.order_id
        WHERE delivered_at >= \(since) AND delivered_by IN ('entitlement', 'import') AND is_named
            AND orders.user_id <> black.user_id
        UNION
        SELECT t.transaction_id, bundle_id, t.environment
        FROM \(stored: .transactions) AS t
        JOIN iap.account_tokens USING (app_account_token, bundle_id)
        WHERE place = 'black' AND delivered_at >= \(since) AND delivered_by IN ('claim', 'entitlement', 'import')
            AND account_tokens.user_id <> t.user_id
        UNION
        SELECT t.transaction_id, bundle_id, t.environment
        FROM \(stored: .transactions) AS t
        JOIN iap.orders USING (app_account_token, bundle_id)
        WHERE place = 'black' AND delivered_at >= \(since) AND delivered_by IN ('claim', 'entitlement', 'import')
            AND orders.user_id <> t.user_id
        """
    }

    /// Claims for an order that somebody else opened: a receipt that was passed on, and the order that it came with.
    func forEachRefusedClaim(since: Date, _ body: (Suspicion) throws -> Void) async throws {
        try await connection.forEachRow(
            """
            SELECT
                refused.*, known.environment, known.product_id
            FROM (
                SELECT
                    transaction_id, bundle_id, min(attempted_at) AS first_seen_at,
                    min(order_id) AS order_id, min(orders.user_id) AS order_user_id,
                    (array_agg(DISTINCT claims.user_id))[:100] AS user_ids
                FROM iap.claims
                JOIN iap.orders USING (bundle_id, order_id)
                WHERE outcome = 'wrong_user' AND attempted_at >= \(since) AND orders.user_id <> claims.user_id
                GROUP BY transaction_id, bundle_id, order_id
            ) AS refused
            -- A claim names no environment: what was paid is meant.
            CROSS JOIN LATERAL (
                SELECT environment, product_id
                FROM \(whole(.transactions)) AS t
                WHERE t.transaction_id = refused.transaction_id AND t.bundle_id = refused.bundle_id
                ORDER BY environment
                LIMIT 1
            ) AS known
            ORDER BY first_seen_at, transaction_id, bundle_id, order_id
            """
        ) { row in
            let order = try row.decode("order_id", as: String.self)
            let owner = try row.decode("order_user_id", as: String.self)
            try body(try Suspicion(row, .refusedClaim, detail: "claimed, in vain, for order \(order) of \(owner)"))
        }
    }

    /// Transactions that three users or more presented.
    func forEachSharedTransaction(since: Date, _ body: (Suspicion) throws -> Void) async throws {
        try await connection.forEachRow(
            """
            SELECT shared.*, known.product_id
            FROM (
                -- Nearly all are one user's, of which neither the users nor their number need be made.
                SELECT transaction_id, bundle_id, environment
                FROM \(whole(.sightings)) AS sightings
                WHERE uploaded_at >= \(since) AND user_id IS NOT NULL
                GROUP BY transaction_id, bundle_id, environment
                HAVING min(user_id) <> max(user_id)
            ) AS several
            CROSS JOIN LATERAL (
                SELECT
                    several.*, min(uploaded_at) AS first_seen_at, (array_agg(DISTINCT user_id))[:100] AS user_ids,
                    count(DISTINCT user_id) AS users
                FROM \(whole(.sightings)) AS sightings
                WHERE sightings.transaction_id = several.transaction_id AND sightings.bundle_id = several.bundle_id
                    AND sightings.environment = several.environment AND uploaded_at >= \(since)
                    AND user_id IS NOT NULL
            ) AS shared
            -- One by one: few are shared, and a join might read the whole of the ledger.
            CROSS JOIN LATERAL (
                SELECT product_id
                FROM \(whole(.transactions)) AS held
                WHERE held.transaction_id = shared.transaction_id AND held.bundle_id = shared.bundle_id
                    AND held.environment = shared.environment
                LIMIT 1
            ) AS known
            WHERE users >= 3
            ORDER BY first_seen_at, transaction_id, bundle_id
            """
        ) { row in
            let users = try row.decode("users", as: Int.self)
            try body(try Suspicion(row, .manyUsers, detail: "\(users) users presented it"))
        }
    }
}
