public import Foundation
import PostgreSQL
public import Reconciliation

/// A case as the assessment left it, to be stored.
public struct AssessedCase: Sendable {
    public let key: TransactionKey
    public let assessment: Assessment

    public init(key: TransactionKey, assessment: Assessment) {
        self.key = key
        self.assessment = assessment
    }
}

extension LedgerSession {
    /// The facts of an app's white transactions past their grace, a page at a time in the order of their ids.
    public func caseFacts(
        of app: App, after: TransactionID?, limit: Int, now: Date
    ) async throws(LedgerError) -> [CaseFacts] {
        try await translating {
            try await connection.query(
                """
                SELECT
                    white.transaction_id, white.bundle_id, white.environment, white.product_id,
                    coalesce(white.product_type, products.type) AS product_type,
                    products.product_id IS NOT NULL
                        OR NOT EXISTS (SELECT FROM products AS any_product WHERE any_product.bundle_id = \(app.bundleID.text))
                        AS is_product_known,
                    white.quantity, white.purchased_at, white.nights_confirmed, white.admitted_user_id,
                    \(SightingColumns.select)
                FROM white
                LEFT JOIN products USING (bundle_id, product_id)
                \(SightingColumns.join)
                WHERE white.bundle_id = \(app.bundleID.text)
                    AND white.transaction_id > \(after?.text ?? "")
                    AND white.purchased_at <= \(now) - \(graceSeconds(of: app)) * interval '1 second'
                ORDER BY white.transaction_id
                LIMIT \(limit)
                """
            ).map(CaseFacts.init)
        }
    }

    /// How many of the apps' white transactions are still within their grace.
    public func pendingCount(of apps: [App], now: Date) async throws(LedgerError) -> Int {
        var pending = 0
        for app in apps {
            pending += try await translating {
                try await connection.only(
                    """
                    SELECT count(*) AS pending
                    FROM white
                    LEFT JOIN products USING (bundle_id, product_id)
                    WHERE white.bundle_id = \(app.bundleID.text)
                        AND white.purchased_at > \(now) - \(graceSeconds(of: app)) * interval '1 second'
                    """
                ).decode("pending", as: Int.self)
            }
        }
        return pending
    }

    /// The grace in seconds of the product in hand.
    private func graceSeconds(of app: App) -> SQL {
        """
        CASE coalesce(white.product_type, products.type)
            WHEN 'consumable' THEN \(app.grace.seconds(for: .consumable))::float8
            WHEN 'non_consumable' THEN \(app.grace.seconds(for: .nonConsumable))::float8
            WHEN 'auto_renewable' THEN \(app.grace.seconds(for: .autoRenewable))::float8
            WHEN 'non_renewing' THEN \(app.grace.seconds(for: .nonRenewing))::float8
            ELSE \(app.grace.seconds(for: nil))::float8
        END
        """
    }

    /// Stores the assessments. A case that says the same as before is left alone, so that running again changes
    /// nothing; one that was closed while its transaction is white is open again.
    public func store(_ cases: [AssessedCase], runID: Int64, now: Date) async throws(LedgerError) {
        guard !cases.isEmpty else { return }
        try await translating {
            let owners = try cases.map { try Self.json($0.assessment.owner.candidates) }
            let reasons = try cases.map { try Self.json($0.assessment.reasons.map(\.rawValue)) }
            try await connection.execute(
                """
                INSERT INTO cases AS known (
                    transaction_id, bundle_id, environment, likelihood, reasons, action, owner_user_ids, opened_at,
                    opened_run_id)
                SELECT
                    transaction_id, bundle_id, environment, likelihood,
                    ARRAY(SELECT json_array_elements_text(reasons::json)), action,
                    ARRAY(SELECT json_array_elements_text(owners::json)), \(now), \(runID)
                FROM unnest(
                    \(cases.map(\.key.id.text)), \(cases.map(\.key.bundleID.text)),
                    \(cases.map(\.key.environment.rawValue)), \(cases.map(\.assessment.likelihood.rawValue)),
                    \(reasons), \(cases.map(\.assessment.action.rawValue)), \(owners)
                ) AS assessed (transaction_id, bundle_id, environment, likelihood, reasons, action, owners)
                ON CONFLICT (transaction_id, bundle_id, environment) DO UPDATE
                SET state = 'open', closed_at = NULL, closed_as = NULL, closed_by = NULL, note = NULL,
                    likelihood = EXCLUDED.likelihood, reasons = EXCLUDED.reasons, action = EXCLUDED.action,
                    owner_user_ids = EXCLUDED.owner_user_ids
                WHERE known.state = 'closed'
                    OR (known.likelihood, known.reasons, known.action, known.owner_user_ids)
                        IS DISTINCT FROM
                        (EXCLUDED.likelihood, EXCLUDED.reasons, EXCLUDED.action, EXCLUDED.owner_user_ids)
                """)
        }
    }

    /// Closes the cases whose transaction is white no more and that nobody closed on its way out.
    public func closeVanishedCases(runID: Int64, now: Date) async throws(LedgerError) {
        try await translating {
            _ = try await connection.execute(
                """
                UPDATE cases
                SET state = 'closed', closed_at = \(now), closed_as = 'withdrawn', closed_by = \("run \(runID)")
                WHERE state = 'open' AND NOT EXISTS (
                    SELECT FROM white
                    WHERE white.transaction_id = cases.transaction_id
                        AND white.bundle_id = cases.bundle_id
                        AND white.environment = cases.environment)
                """)
        }
    }

    private static func json(_ texts: [String]) throws -> String {
        String(decoding: try JSONEncoder().encode(texts), as: UTF8.self)
    }
}

extension CaseFacts {
    fileprivate init(_ row: Row) throws {
        self.init(
            key: try TransactionKey(row),
            productID: try row.id("product_id"),
            productType: try row.decode("product_type", as: String?.self).flatMap(ProductType.init),
            isProductKnown: try row.decode("is_product_known"),
            quantity: Int(try row.decode("quantity", as: Int32.self)),
            purchasedAt: try row.decode("purchased_at"),
            nightsConfirmed: Int(try row.decode("nights_confirmed", as: Int32.self)),
            admittedFor: try row.decode("admitted_user_id", as: String?.self),
            sightings: try SightingColumns.sightings(row),
            claims: try SightingColumns.claims(row))
    }
}
