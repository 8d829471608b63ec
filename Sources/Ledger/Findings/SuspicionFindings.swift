public import Foundation
import PostgreSQL
public import Reconciliation

extension LedgerSession {
    /// What looks like fraud or a mix-up: receipts of other apps, quantities below one and transactions that three
    /// users or more presented within thirty days, open cases of products that the app does not sell, deliveries to the
    /// wrong user or from an unexpected country, claims by another's order, deliveries that Apple's word does not bear
    /// out, unusual prices, and receipts of which Apple says something else than its signature.
    public func forEachSuspicion(
        of apps: [App], now: Date, _ body: (Suspicion) throws -> Void
    ) async throws(LedgerError) {
        let since = now.addingTimeInterval(-Self.listing)
        try await translating {
            try await forEachStrangeExclusion(since: since, body)
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
                    detail: "uploaded for more than 1,000 purposes; "
                        + "\(count.counted("more upload is", "more uploads are")) not kept"))
        }
    }

    private func forEachStrangeExclusion(
        since: Date, _ body: (Suspicion) throws -> Void
    ) async throws {
        try await connection.forEachRow(
            """
            SELECT
                excluded.transaction_id, excluded.bundle_id, excluded.environment, excluded.product_id,
                excluded.excluded_at AS first_seen_at, excluded.found_bundle_id, excluded.quantity, seen.user_ids
            FROM \(whole(.excluded)) AS excluded
            \(presenters(of: "excluded"))
            WHERE excluded.reason IN ('foreign_bundle', 'invalid_quantity') AND excluded.excluded_at >= \(since)
            ORDER BY excluded.excluded_at, excluded.transaction_id, excluded.bundle_id
            """
        ) { row in
            if let found = try row.decode("found_bundle_id", as: String?.self) {
                try body(try Suspicion(row, .foreignBundle, detail: "the receipt belongs to \(found)"))
            } else {
                let quantity = try row.decode("quantity", as: Int32.self)
                try body(try Suspicion(row, .invalidQuantity, detail: "Apple tells a quantity of \(quantity)"))
            }
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
