import Foundation
import PostgreSQL
import Reconciliation

/// Deliveries that were not paid, or not as usual.
extension LedgerSession {
    func forEachUnproved(since: Date, _ body: (Suspicion) throws -> Void) async throws {
        try await connection.forEachRow(
            """
            SELECT
                transaction_id, bundle_id, environment, min(product_id) AS product_id, min(found_at) AS first_seen_at,
                array_remove(ARRAY[min(user_id)], NULL) AS user_ids,
                min(booked_milliunits) AS booked_milliunits, min(booked_currency) AS booked_currency,
                array_agg(DISTINCT finding ORDER BY finding) AS findings
            FROM iap.unproved
            WHERE found_at >= \(since)
                -- What was delivered lately to another user is told of as misdelivered, and whose it likely is.
                AND (finding <> 'another_user' OR delivered_at < \(since))
            GROUP BY transaction_id, bundle_id, environment
            ORDER BY first_seen_at, transaction_id, bundle_id
            """
        ) { row in
            try body(try Suspicion(unproved: row, try row.words("findings")))
        }
    }

    /// What an app's server admitted as a tester's purchase, and delivered, of an app whose purchases are paid. A
    /// genuine receipt of it proves that nobody paid.
    func forEachTestersPurchase(
        of apps: [App], since: Date, _ body: (Suspicion) throws -> Void
    ) async throws {
        for app in apps where app.environment == .production {
            try await connection.forEachRow(
                """
                SELECT
                    transaction_id, bundle_id, environment, product_id, delivered_at AS first_seen_at,
                    array_remove(ARRAY[user_id], NULL) AS user_ids, booked_milliunits, booked_currency
                FROM \(stored: .transactions)
                WHERE place = 'black' AND delivered_by = 'claim' AND environment = 'Sandbox'
                    AND (source = 'app_server' OR admitted_user_id IS NOT NULL)
                    AND bundle_id = \(app.bundleID.text) AND delivered_at >= \(since)
                ORDER BY delivered_at, transaction_id
                """
            ) { row in try body(try Suspicion(unproved: row, [.sandbox])) }
        }
    }

    func forEachUnusualPrice(since: Date, _ body: (Suspicion) throws -> Void) async throws {
        try await connection.forEachRow(
            """
            SELECT
                transaction_id, bundle_id, environment, t.product_id, found.found_at AS first_seen_at,
                array_remove(ARRAY[coalesce(t.user_id, t.admitted_user_id)], NULL) AS user_ids,
                t.price_milliunits / t.quantity AS milliunits, t.currency, t.storefront, found.usual_milliunits,
                found.usual_currency, t.booked_milliunits, t.booked_currency
            FROM iap.unusual_prices AS found
            JOIN \(stored: .transactions) AS t USING (transaction_id, bundle_id, environment)
            WHERE found.found_at >= \(since) AND t.price_milliunits IS NOT NULL AND t.quantity > 0
            ORDER BY found.found_at, transaction_id, bundle_id
            """
        ) { row in
            let paid = try row.money("milliunits", "currency")
            let usual = try row.money("usual_milliunits", "usual_currency")
            let storefront = try row.decode("storefront", as: String?.self) ?? "its storefront"
            guard let paid, let usual else { return }
            var found = try Suspicion(
                row, .unusualPrice, detail: "paid at \(paid), where \(usual) is usual in \(storefront)")
            found.price = try row.money("booked_milliunits", "booked_currency")
            try body(found)
        }
    }
}

extension Suspicion {
    /// A delivery that Apple's word does not bear out, with what it is booked at.
    fileprivate init(unproved row: Row, _ findings: [UnprovedFinding]) throws {
        let price = try row.money("booked_milliunits", "booked_currency")
        let texts = findings.map(\.text) + (price.map { ["booked at \($0)"] } ?? [])
        try self.init(row, .deliveredUnproved, detail: texts.joined(separator: "; "))
        self.price = price
    }
}

extension UnprovedFinding {
    fileprivate var text: String {
        switch self {
        case .unknownToApple: "Apple knows no such purchase"
        case .sandbox: "it was a tester's purchase, in sandbox"
        case .anotherUser: "it bears the appAccountToken of another user"
        case .otherProduct: "Apple sold another product than was delivered"
        case .otherQuantity: "Apple sold another quantity than was delivered"
        case .foreignBundle: "it was bought in another app"
        case .refundedBefore: "it was refunded before it was delivered"
        }
    }
}
