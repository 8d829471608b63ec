public import Foundation
import PostgreSQL
public import Reconciliation

/// A case as the assessment left it, to be stored.
public struct AssessedCase: Sendable {
    public let key: TransactionKey
    public let assessment: Assessment
    /// The periods of a subscription that it tells of; empty where it is of one purchase.
    public let periods: [TransactionID]

    public init(key: TransactionKey, assessment: Assessment, periods: [TransactionID] = []) {
        self.key = key
        self.assessment = assessment
        self.periods = periods
    }
}

extension LedgerSession {
    /// Hands over the facts of the apps' white transactions past their grace of which a delivery is expected, in pages,
    /// the oldest purchase first; of a subscription those of its first period without access. All pages are of one
    /// snapshot, and nothing is locked.
    ///
    /// - Parameters:
    ///   - told: up to when it is known what was delivered; what was in its grace then is no case yet.
    ///   - isKeptAside: whether the server keeps everything aside before the first page, so that the body may write over
    ///     this session, too; else the first page comes sooner, and the session only reads meanwhile.
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

    /// Sorted before their sightings are looked up: those come page by page.
    private static func facts(expecting deliveries: [ExpectedDelivery], toldUpTo told: Date) -> SQL {
        """
        SELECT white.*, \(SightingColumns.select)
        FROM (
            SELECT
                white.transaction_id, white.bundle_id, white.environment, white.product_id,
                coalesce(white.product_type, products.type) AS product_type,
                products.product_id IS NOT NULL
                    OR NOT EXISTS (SELECT FROM products AS any_product WHERE any_product.bundle_id = white.bundle_id)
                    AS is_product_known,
                white.quantity, white.purchased_at, white.nights_confirmed, white.admitted_user_id,
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

    /// Of both, so that nothing is sorted again once its sightings are there.
    private static let order: SQL = "purchased_at, transaction_id, bundle_id, environment"

    private func nextPage(
        apps: [BundleID: App], context: inout CaseContext, told: Date, now: Date
    ) async throws -> [CaseFacts] {
        let rows = try await connection.query("FETCH 1000 FROM swept")
        var page = try rows.map { try CaseFacts($0, apps: apps, now: now) }
        try await context.add(
            to: &page, tokens: try rows.map { try $0.decode("app_account_token", as: String?.self) }, from: self)
        let heads = try rows.enumerated().compactMap { try SubscriptionHead($0.element, index: $0.offset) }
        try await addSubscriptions(heads, to: &page, toldUpTo: told, now: now)
        return page
    }

    /// How many white transactions of which a delivery is expected are still within their grace.
    public func pendingCount(
        _ deliveries: [ExpectedDelivery], toldUpTo told: Date
    ) async throws(LedgerError) -> Int {
        try await translating {
            try await connection.only(
                """
                SELECT count(*) AS pending
                FROM white
                LEFT JOIN products USING (bundle_id, product_id)
                \(Self.expected(deliveries))
                WHERE white.purchased_at > \(told) - expected.grace * interval '1 second' AND \(Self.isJudged)
                """
            ).decode("pending", as: Int.self)
        }
    }

    /// Whether a delivery of the purchase in hand is expected, so that without one it is lost.
    static let isJudged: SQL = "expected.mode <> 'ignore' AND \(isBoughtSince)"

    /// Whether the purchase in hand was bought since deliveries of such are seen. What was restored has a new date of
    /// purchase, and still the original one: as in the rule `beforeStart`.
    static let isBoughtSince: SQL = """
        white.purchased_at >= expected.judged_from
        AND (
            expected.product_type NOT IN ('non_consumable', 'unknown')
            OR (expected.product_type = 'unknown' AND white.expires_at IS NOT NULL)
            OR coalesce(white.original_purchased_at >= expected.judged_from, true))
        """

    /// Whether an earlier period of the subscription in hand is without access too: that one stands for them all.
    static let hasEarlierPeriod: SQL = """
        EXISTS (
            SELECT FROM white AS earlier
            WHERE iap.is_of_original(
                    earlier.transaction_id, earlier.original_transaction_id, white.original_transaction_id)
                AND earlier.bundle_id = white.bundle_id AND earlier.environment = white.environment
                AND earlier.purchased_at >= expected.judged_from
                AND (earlier.purchased_at, earlier.transaction_id) < (white.purchased_at, white.transaction_id))
        """

    /// Stores the assessments. A case that says the same as before is left alone, so that running again changes
    /// nothing; one that was closed while its transaction is white is open again. Each is stored while its transaction
    /// is held in white: what another session has locked is left out.
    ///
    /// - Returns: the transactions that are left out.
    public func store(_ cases: [AssessedCase], runID: Int64, now: Date) async throws(LedgerError) -> [TransactionID] {
        guard !cases.isEmpty else { return [] }
        return try await translating {
            let owners = cases.map { ArrayLiteral($0.assessment.owner.candidates).text }
            let reasons = cases.map { ArrayLiteral($0.assessment.reasons.map(\.rawValue)).text }
            let candidates = try Self.candidates(of: cases)
            let orders = cases.map { ArrayLiteral($0.assessment.orderIDs).text }
            let periods = cases.map { ArrayLiteral($0.periods.map(\.text)).text }
            let rows = try await connection.query(
                """
                WITH assessed AS MATERIALIZED (
                    SELECT
                        transaction_id, bundle_id, environment, likelihood, reasons::text[] AS reasons, action,
                        owners::text[] AS owner_user_ids, candidates::jsonb AS candidates,
                        orders::text[] AS order_ids, periods::text[] AS periods
                    FROM unnest(
                        \(cases.map(\.key.id.text)), \(cases.map(\.key.bundleID.text)),
                        \(cases.map(\.key.environment.rawValue)), \(cases.map(\.assessment.likelihood.rawValue)),
                        \(reasons), \(cases.map(\.assessment.action.rawValue)), \(owners), \(candidates), \(orders),
                        \(periods)
                    ) AS assessed (
                        transaction_id, bundle_id, environment, likelihood, reasons, action, owners, candidates, orders,
                        periods)
                ), news AS MATERIALIZED (
                    SELECT assessed.*
                    FROM assessed
                    LEFT JOIN LATERAL (
                        SELECT * FROM cases AS found
                        WHERE found.transaction_id = assessed.transaction_id AND found.bundle_id = assessed.bundle_id
                            AND found.environment = assessed.environment
                        OFFSET 0
                    ) AS known ON true
                    WHERE known.state IS DISTINCT FROM 'open' OR known.reopened_run_id = 0
                        OR (
                            known.likelihood, known.reasons, known.action, known.owner_user_ids, known.candidates,
                            known.order_ids, known.periods)
                            IS DISTINCT FROM (
                                assessed.likelihood, assessed.reasons, assessed.action, assessed.owner_user_ids,
                                assessed.candidates, assessed.order_ids, assessed.periods)
                ), held AS MATERIALIZED (
                    -- Whoever would claim it now waits for this to commit; what somebody claims now is left out. By
                    -- the primary key: the planner takes white for as small as it was before this night.
                    SELECT news.*, found.place
                    FROM news
                    LEFT JOIN LATERAL (
                        SELECT place FROM transactions AS t
                        WHERE t.transaction_id = news.transaction_id AND t.bundle_id = news.bundle_id
                            AND t.environment = news.environment
                        OFFSET 0
                        FOR KEY SHARE SKIP LOCKED
                    ) AS found ON true
                ), stored AS (
                    INSERT INTO cases AS known (
                        transaction_id, bundle_id, environment, likelihood, reasons, action, owner_user_ids,
                        candidates, order_ids, periods, opened_at, opened_run_id, assessed_at, assessed_run_id)
                    SELECT
                        transaction_id, bundle_id, environment, likelihood, reasons, action, owner_user_ids,
                        candidates, order_ids, periods, \(now), \(runID), \(now), \(runID)
                    FROM held
                    WHERE place = 'white'
                    ORDER BY transaction_id, bundle_id, environment
                    ON CONFLICT (transaction_id, bundle_id, environment) DO UPDATE
                    SET state = 'open', closed_at = NULL, closed_as = NULL, closed_by = NULL, note = NULL,
                        likelihood = EXCLUDED.likelihood, reasons = EXCLUDED.reasons, action = EXCLUDED.action,
                        owner_user_ids = EXCLUDED.owner_user_ids, candidates = EXCLUDED.candidates,
                        order_ids = EXCLUDED.order_ids, periods = EXCLUDED.periods, assessed_at = EXCLUDED.assessed_at,
                        assessed_run_id = EXCLUDED.assessed_run_id,
                        reopened_run_id = CASE WHEN known.state = 'closed' OR known.reopened_run_id = 0
                            THEN EXCLUDED.assessed_run_id ELSE known.reopened_run_id END
                    RETURNING
                        transaction_id, bundle_id, environment,
                        CASE
                            WHEN reopened_run_id = assessed_run_id THEN 'case_reopened'
                            WHEN opened_run_id = assessed_run_id THEN 'case_opened'
                            ELSE 'case_changed'
                        END AS kind,
                        jsonb_build_object(
                            'likelihood', likelihood, 'reasons', reasons, 'owner_user_ids', owner_user_ids) AS details
                ), noted AS (
                    INSERT INTO events
                    SELECT event.*, audit.seal(ROW(event.*, NULL)::iap.events)
                    FROM (
                        SELECT
                            nextval('iap.trail'), \(now), kind, 'iap-reconcile', \(runID), transaction_id, bundle_id,
                            environment, details
                        FROM stored
                        ORDER BY transaction_id, bundle_id, environment
                    ) AS event
                )
                SELECT held.transaction_id
                FROM held
                CROSS JOIN LATERAL (
                    SELECT place FROM transactions AS t
                    WHERE t.transaction_id = held.transaction_id AND t.bundle_id = held.bundle_id
                        AND t.environment = held.environment
                    OFFSET 0
                ) AS found
                WHERE held.place IS NULL AND found.place = 'white'
                """)
            return try rows.map { try $0.id("transaction_id") }
        }
    }

    /// As JSON, which purchases of one customer have in common. Their coding keys are those of the column, and need no
    /// strategy for each.
    private static func candidates(of cases: [AssessedCase]) throws -> [String] {
        let encoder = JSONEncoder()
        var known: [[OwnerCandidate]: String] = [:]
        return try cases.map { found in
            let candidates = found.assessment.candidates
            if let text = known[candidates] { return text }
            let text = String(decoding: try encoder.encode(candidates), as: UTF8.self)
            known[candidates] = text
            return text
        }
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
            admittedFor: try row.decode("admitted_user_id", as: String?.self),
            sightings: try SightingColumns.sightings(row),
            claims: try SightingColumns.claims(row),
            age: now.timeIntervalSince(purchasedAt),
            awaitsNotifications: app?.takesNotifications ?? false,
            isStorefrontUnexpected: storefront.map { app?.isUnexpected(storefront: $0) ?? false } ?? false,
            isCutShort: try SightingColumns.isCutShort(row))
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
