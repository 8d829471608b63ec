public import Foundation
import PostgreSQL
public import Reconciliation

extension LedgerSession {
    /// What looks like fraud or a mix-up: receipts of other apps and transactions that three users or more presented
    /// within thirty days, open cases of products that the app does not sell, deliveries to the wrong user or from an
    /// unexpected country, claims by another's order, deliveries that Apple's word does not bear out, unusual prices,
    /// and receipts of which Apple says something else than its signature.
    public func forEachSuspicion(
        of apps: [App], now: Date, _ body: (Suspicion) throws -> Void
    ) async throws(LedgerError) {
        let since = now.addingTimeInterval(-Self.listing)
        try await translating {
            try await forEachForeignBundle(since: since, body)
            try await forEachUnknownProduct(body)
            try await forEachSharedTransaction(since: since, body)
            try await forEachMisdelivery(since: since, body)
            try await forEachRefusedClaim(since: since, body)
            try await forEachUnexpectedStorefront(of: apps, since: since, body)
            try await forEachContradiction(since: since, body)
            try await forEachUnproved(since: since, body)
            try await forEachTestersPurchase(of: apps, since: since, body)
            try await forEachUnusualPrice(since: since, body)
            try await forEachOfManyPurposes(since: since, body)
        }
    }

    /// Deliveries for which another's order was named, that bear another's token, or that another uploaded first; what
    /// was granted is judged by the token alone. Deliveries for which nothing ever named anybody else are nearly all,
    /// and are left out before the rest is looked up one by one.
    private func forEachMisdelivery(since: Date, _ body: (Suspicion) throws -> Void) async throws {
        try await connection.forEachRow(
            """
            WITH disputed AS (
                SELECT transaction_id, bundle_id, environment
                FROM \(stored: .black)
                JOIN iap.orders USING (bundle_id, order_id)
                WHERE delivered_at >= \(since) AND delivered_by = 'claim' AND orders.user_id <> black.user_id
                UNION
                SELECT transaction_id, bundle_id, environment
                FROM \(stored: .black)
                JOIN \(stored: .sightings) USING (transaction_id, bundle_id, environment)
                WHERE delivered_at >= \(since) AND delivered_by = 'claim' AND sightings.user_id <> black.user_id
                UNION
                SELECT t.transaction_id, bundle_id, t.environment
                FROM \(stored: .transactions) AS t
                JOIN iap.account_tokens USING (app_account_token, bundle_id)
                WHERE place = 'black' AND delivered_at >= \(since) AND delivered_by IN ('claim', 'entitlement')
                    AND account_tokens.user_id <> t.user_id
                UNION
                SELECT t.transaction_id, bundle_id, t.environment
                FROM \(stored: .transactions) AS t
                JOIN iap.orders USING (app_account_token, bundle_id)
                WHERE place = 'black' AND delivered_at >= \(since) AND delivered_by IN ('claim', 'entitlement')
                    AND orders.user_id <> t.user_id
            )
            SELECT
                black.transaction_id, black.bundle_id, black.environment, black.product_id,
                black.delivered_at AS first_seen_at, black.user_id AS served_user_id,
                coalesce(orders.user_id, token.user_id, first_upload.user_id) AS likely_user_id,
                ARRAY[coalesce(orders.user_id, token.user_id, first_upload.user_id), black.user_id] AS user_ids
            FROM disputed
            JOIN \(stored: .transactions) AS black USING (transaction_id, bundle_id, environment)
            LEFT JOIN iap.orders
                ON orders.bundle_id = black.bundle_id AND orders.order_id = black.order_id
                AND orders.user_id <> black.user_id
            LEFT JOIN LATERAL (
                SELECT CASE WHEN bool_or(owner = black.user_id) THEN black.user_id ELSE min(owner) END AS user_id
                FROM iap.owners_by_token(black.bundle_id, black.app_account_token) AS owner
            ) AS token ON true
            LEFT JOIN LATERAL (
                SELECT user_id
                FROM \(stored: .sightings)
                WHERE sightings.transaction_id = black.transaction_id AND sightings.bundle_id = black.bundle_id
                    AND sightings.environment = black.environment AND sightings.user_id IS NOT NULL
                    AND black.delivered_by = 'claim'
                ORDER BY is_named DESC, uploaded_at, receipt_id
                LIMIT 1
            ) AS first_upload ON true
            WHERE coalesce(orders.user_id, token.user_id, first_upload.user_id) <> black.user_id
            ORDER BY black.delivered_at, black.transaction_id, black.bundle_id
            """
        ) { row in
            let served = try row.decode("served_user_id", as: String.self)
            let likely = try row.decode("likely_user_id", as: String.self)
            try body(try Suspicion(row, .misdelivery, detail: "delivered to \(served), likely bought by \(likely)"))
        }
    }

    /// Claims for an order that somebody else opened: a receipt that was passed on, and the order that it came with.
    private func forEachRefusedClaim(since: Date, _ body: (Suspicion) throws -> Void) async throws {
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

    private func forEachUnexpectedStorefront(
        of apps: [App], since: Date, _ body: (Suspicion) throws -> Void
    ) async throws {
        for app in apps where !app.storefronts.isEmpty {
            try await connection.forEachRow(
                """
                SELECT
                    transaction_id, bundle_id, environment, product_id, delivered_at AS first_seen_at, storefront,
                    array_remove(ARRAY[user_id], NULL) AS user_ids
                FROM \(stored: .black)
                WHERE bundle_id = \(app.bundleID.text) AND delivered_at >= \(since) AND storefront IS NOT NULL
                    AND storefront <> ALL (\(app.storefronts.sorted()))
                ORDER BY delivered_at, transaction_id
                """
            ) { row in
                let storefront = try row.decode("storefront", as: String.self)
                try body(try Suspicion(row, .unexpectedStorefront, detail: "paid in the storefront \(storefront)"))
            }
        }
    }

    private func forEachContradiction(
        since: Date, _ body: (Suspicion) throws -> Void
    ) async throws {
        try await connection.forEachRow(
            """
            SELECT receipt_id, bundle_id, transaction_id, user_id, submitted_at, error_text
            FROM receipts
            WHERE error_code IS NOT NULL AND error_code = \(ReceiptProblem.contradicted.rawValue)
                AND submitted_at >= \(since)
            ORDER BY submitted_at, receipt_id
            """
        ) { row in
            try body(try Suspicion(ofReceipt: row, .contradiction, detail: try row.decode("error_text")))
        }
    }

    /// Receipts with more uploads than are kept.
    private func forEachOfManyPurposes(since: Date, _ body: (Suspicion) throws -> Void) async throws {
        try await connection.forEachRow(
            """
            SELECT receipt_id, bundle_id, transaction_id, user_id, submitted_at, uploads_left_out
            FROM \(stored: .receipts)
            WHERE uploads_left_out > 0 AND submitted_at >= \(since)
            ORDER BY submitted_at, receipt_id
            """
        ) { row in
            let count = try row.decode("uploads_left_out", as: Int32.self)
            try body(
                try Suspicion(
                    ofReceipt: row, .manyPurposes,
                    detail: "uploaded for more than 1,000 purposes; \(count) more uploads are not kept"))
        }
    }

    private func forEachForeignBundle(
        since: Date, _ body: (Suspicion) throws -> Void
    ) async throws {
        try await connection.forEachRow(
            """
            SELECT
                excluded.transaction_id, excluded.bundle_id, excluded.environment, excluded.product_id,
                excluded.excluded_at AS first_seen_at, excluded.found_bundle_id, seen.user_ids
            FROM \(whole(.excluded)) AS excluded
            \(presenters(of: "excluded"))
            WHERE excluded.reason = 'foreign_bundle' AND excluded.excluded_at >= \(since)
            ORDER BY excluded.excluded_at, excluded.transaction_id, excluded.bundle_id
            """
        ) { row in
            let found = try row.decode("found_bundle_id", as: String.self)
            try body(try Suspicion(row, .foreignBundle, detail: "the receipt belongs to \(found)"))
        }
    }

    private func forEachUnknownProduct(_ body: (Suspicion) throws -> Void) async throws {
        try await connection.forEachRow(
            """
            SELECT
                white.transaction_id, white.bundle_id, white.environment, white.product_id,
                white.first_seen_at, seen.user_ids
            FROM cases
            JOIN white USING (transaction_id, bundle_id, environment)
            \(presenters(of: "white"))
            WHERE cases.state = 'open' AND 'unknown_product' = ANY (cases.reasons)
            ORDER BY white.first_seen_at, white.transaction_id, white.bundle_id
            """
        ) { row in
            let product = try row.decode("product_id", as: String.self)
            try body(try Suspicion(row, .unknownProduct, detail: "the app's products do not list \(product)"))
        }
    }

    private func forEachSharedTransaction(
        since: Date, _ body: (Suspicion) throws -> Void
    ) async throws {
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

    /// The users who presented a transaction of the table, the earliest first.
    private func presenters(of table: String) -> SQL {
        """
        LEFT JOIN LATERAL (
            SELECT array_agg(user_id ORDER BY first_upload, user_id) AS user_ids
            FROM (
                SELECT user_id, min(uploaded_at) AS first_upload
                FROM \(whole(.sightings)) AS sightings
                WHERE sightings.transaction_id = \(identifier: table).transaction_id
                    AND sightings.bundle_id = \(identifier: table).bundle_id
                    AND sightings.environment = \(identifier: table).environment
                    AND sightings.user_id IS NOT NULL
                GROUP BY user_id
                ORDER BY 2, 1
                LIMIT 100
            ) AS users
        ) AS seen ON true
        """
    }
}

extension Suspicion {
    fileprivate init(ofReceipt row: Row, _ kind: Kind, detail: String) throws {
        self.init(
            kind: kind,
            subject: .receipt(
                try row.decode("receipt_id"), bundleID: try row.decode("bundle_id"),
                transactionID: try row.decode("transaction_id", as: String?.self)),
            userIDs: try row.decode("user_id", as: String?.self).map { [$0] } ?? [],
            firstSeenAt: try row.decode("submitted_at"), detail: detail)
    }

    init(_ row: Row, _ kind: Kind, detail: String) throws {
        self.init(
            kind: kind, subject: .transaction(try TransactionKey(row), try row.id("product_id")),
            userIDs: try row.decode("user_ids", as: [String]?.self) ?? [],
            firstSeenAt: try row.decode("first_seen_at"), detail: detail)
    }
}
