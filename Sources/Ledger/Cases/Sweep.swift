public import Foundation
import PostgreSQL
public import Reconciliation

extension LedgerSession {
    /// Hands over the facts of the apps' white transactions past their grace for which a delivery is expected, in
    /// pages, the oldest purchase first. For a subscription these are the facts of its first period without access. All
    /// pages are of one snapshot, and nothing is locked.
    ///
    /// - Parameters:
    ///   - told: up to when it is known what was delivered; what was in its grace then is no case yet.
    ///   - isKeptAside: whether the server keeps everything aside before the first page, so that the body may write
    ///     over this session, too; otherwise the first page comes sooner, and the session only reads meanwhile.
    public func forEachPageOfFacts(
        of apps: [App], expecting deliveries: [ExpectedDelivery], toldUpTo told: Date, now: Date, isKeptAside: Bool,
        _ body: ([CaseFacts]) async throws(LedgerError) -> Void
    ) async throws(LedgerError) {
        guard !isKeptAside else {
            return try await sweep(apps, deliveries, told: told, now: now, "WITH HOLD", body)
        }
        try await reading {
            try await sweep(apps, deliveries, told: told, now: now, "WITHOUT HOLD", body)
        }
    }

    private func sweep(
        _ apps: [App], _ deliveries: [ExpectedDelivery], told: Date, now: Date, _ hold: SQL,
        _ body: ([CaseFacts]) async throws(LedgerError) -> Void
    ) async throws(LedgerError) {
        try await translating {
            _ = try await connection.execute(
                "DECLARE swept NO SCROLL CURSOR \(hold) FOR \(Self.facts(expecting: deliveries, toldUpTo: told))")
        }
        do {
            let settings = Dictionary(apps.map { ($0.bundleID, $0) }, uniquingKeysWith: { first, _ in first })
            var context = CaseContext()
            while true {
                let page = try await translating {
                    try await nextPage(apps: settings, context: &context, told: told, now: now)
                }
                if page.isEmpty { break }
                try await body(page)
            }
        } catch {
            // So that the sweep can be done again.
            _ = try? await connection.execute("CLOSE swept")
            throw error
        }
        try await translating { _ = try await connection.execute("CLOSE swept") }
    }

    /// The cases are sorted before their sightings are looked up, which come page by page.
    private static func facts(expecting deliveries: [ExpectedDelivery], toldUpTo told: Date) -> SQL {
        """
        SELECT white.*, \(SightingColumns.select)
        FROM (
            SELECT
                white.transaction_id, white.bundle_id, white.environment, white.product_id,
                iap.type_by(white.product_type, white.source, products.type) AS product_type,
                products.product_id IS NOT NULL
                    OR NOT (
                        EXISTS (SELECT FROM products AS any_product WHERE any_product.bundle_id = white.bundle_id)
                        OR (white.product_type IS NULL AND \(isOriginalDelivered)))
                    AS is_product_known,
                white.quantity, white.purchased_at, white.nights_confirmed, white.admitted_user_id,
                CASE
                    WHEN white.transaction_id <> white.original_transaction_id AND white.expires_at IS NULL
                        AND white.product_type IS DISTINCT FROM 'auto_renewable'
                    THEN least(white.original_purchased_at, white.purchased_at)
                END AS first_purchased_at,
                white.app_account_token, white.storefront, white.original_transaction_id,
                expected.mode = 'entitlement' AS is_subscription, expected.judged_from, expected.grace
            FROM white
            LEFT JOIN products USING (bundle_id, product_id)
            \(expected(deliveries))
            WHERE white.purchased_at <= \(told) - expected.grace * interval '1 second'
                AND \(isJudged) AND NOT (expected.mode = 'entitlement' AND \(hasEarlierPeriod))
            ORDER BY \(order)
        ) AS white
        \(SightingColumns.join)
        ORDER BY \(order)
        """
    }

    /// Whether the original of the purchase in hand was delivered under another id. Of what nobody knows the type of, it
    /// may be that purchase, restored: a claim gets `undecided`, as `iap.outcome_otherwise` says.
    private static let isOriginalDelivered: SQL = """
        (
            SELECT iap.is_original_delivered(ROW(t.*)::iap.transactions)
            FROM transactions AS t
            WHERE t.transaction_id = white.transaction_id AND t.bundle_id = white.bundle_id
                AND t.environment = white.environment)
        """

    /// The order of both queries, so that nothing is sorted again once its sightings are there.
    private static let order: SQL = "purchased_at, transaction_id, bundle_id, environment"

    private func nextPage(
        apps: [BundleID: App], context: inout CaseContext, told: Date, now: Date
    ) async throws -> [CaseFacts] {
        let rows = try await connection.query("FETCH 1000 FROM swept")
        var page = try rows.map { try CaseFacts($0, apps: apps, now: now) }
        try await context.add(
            to: &page, tokens: try rows.map { try $0.decode("app_account_token", as: String?.self) }, from: self,
            at: now)
        let heads = try rows.enumerated().compactMap { try SubscriptionHead($0.element, index: $0.offset) }
        try await addSubscriptions(heads, to: &page, toldUpTo: told, now: now)
        return page
    }
}

extension CaseFacts {
    fileprivate init(_ row: Row, apps: [BundleID: App], now: Date) throws {
        let key = try TransactionKey(row)
        let app = apps[key.bundleID]
        let purchasedAt = try row.decode("purchased_at", as: Date.self)
        let storefront = try row.decode("storefront", as: String?.self)
        self.init(
            key: key,
            productID: try row.id("product_id"),
            productType: try row.wordIfAny("product_type"),
            isProductKnown: try row.decode("is_product_known"),
            quantity: Int(try row.decode("quantity", as: Int32.self)),
            purchasedAt: purchasedAt,
            nightsConfirmed: Int(try row.decode("nights_confirmed", as: Int32.self)),
            age: now.timeIntervalSince(purchasedAt))
        firstPurchasedAt = try row.decode("first_purchased_at", as: Date?.self)
        admittedFor = try row.decode("admitted_user_id", as: String?.self)
        sightings = try SightingColumns.sightings(row)
        claims = try SightingColumns.claims(row)
        awaitsNotifications = app?.takesNotifications ?? false
        isStorefrontUnexpected = storefront.map { app?.isUnexpected(storefront: $0) ?? false } ?? false
        isCutShort = try SightingColumns.isCutShort(row)
    }
}

extension SubscriptionHead {
    fileprivate init?(_ row: Row, index: Int) throws {
        guard try row.decode("is_subscription", as: Bool.self) else { return nil }
        self.init(
            index: index, originalID: try row.decode("original_transaction_id"),
            judgedFrom: try row.decode("judged_from"), grace: try row.decode("grace"))
    }
}
