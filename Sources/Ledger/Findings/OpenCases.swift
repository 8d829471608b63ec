import Foundation
import PostgreSQL
import Reconciliation

/// The query for every open case, with what its customer's cases come to together.
enum OpenCases {
    /// One user's cases of one app are a customer's. A case that several users may own, or nobody is known to, stands
    /// by itself. Customers are ordered by the columns that decide it alone, and the rest of a case is looked up as it
    /// comes. So the first of a hundred thousand comes soon, and no list of them is sorted.
    static let query: SQL = """
        SELECT
            customers.*, cases.likelihood, cases.reasons, cases.action, cases.owner_user_ids,
            cases.candidates::text AS candidates, cases.order_ids AS matched_order_ids, cases.opened_at,
            \(toldRunID) AS told_run_id, \(reopenedRunID) AS reopened_run_id, white.original_transaction_id, white.product_id,
            iap.type_by(white.product_type, white.source, listed_type) AS product_type, white.quantity,
            white.source::text AS source, white.first_seen_at, white.last_confirmed_at,
            iap.case_mark(
                cases.opened_run_id, cases.opened_at, white.move_id, white.product_id, white.quantity,
                cases.owner_user_ids, cases.periods) AS standing,
            cases.periods,
            CASE WHEN isfinite(entitlements.entitled_until) THEN entitlements.entitled_until END AS entitled_until,
            \(SightingColumns.select)
        FROM (\(customers)) AS customers
        CROSS JOIN LATERAL (
            SELECT * FROM cases AS found
            WHERE found.transaction_id = customers.transaction_id AND found.bundle_id = customers.bundle_id
                AND found.environment = customers.environment
            OFFSET 0
        ) AS cases
        CROSS JOIN LATERAL (
            SELECT * FROM transactions AS found
            WHERE found.transaction_id = customers.transaction_id AND found.bundle_id = customers.bundle_id
                AND found.environment = customers.environment
            OFFSET 0
        ) AS white
        LEFT JOIN LATERAL (
            SELECT entitled_until FROM entitlements AS found
            WHERE found.original_transaction_id = white.original_transaction_id AND found.bundle_id = white.bundle_id
            OFFSET 0
        ) AS entitlements ON true
        \(SightingColumns.join)
        ORDER BY \(order)
        """

    /// Windows need no join with the customers, which a planner without statistics would do row against row.
    private static let customers: SQL = """
        SELECT
            priced.*,
            count(*) OVER customer AS customer_cases,
            min(likelihood_rank) OVER customer AS customer_rank,
            min(purchased_at) OVER customer AS customer_oldest,
            array_agg(currency) FILTER (WHERE is_sum) OVER customer AS customer_currencies,
            array_agg(currency_milliunits) FILTER (WHERE is_sum) OVER customer AS customer_milliunits,
            count(*) FILTER (WHERE milliunits IS NULL) OVER customer AS customer_unpriced
        FROM (
            SELECT
                found.*,
                (sum(milliunits) OVER money)::bigint AS currency_milliunits,
                milliunits IS NOT NULL AND row_number() OVER money = 1 AS is_sum
            FROM (\(found)) AS found
            WINDOW money AS (PARTITION BY bundle_id, user_id, standing_alone, currency)
        ) AS priced
        WINDOW customer AS (PARTITION BY bundle_id, user_id, standing_alone)
        ORDER BY \(order)
        """

    private static let order: SQL = """
        customer_rank, customer_oldest, bundle_id, user_id, standing_alone, likelihood_rank, purchased_at, transaction_id,
        environment
        """

    private static let found: SQL = """
        SELECT
            cases.transaction_id, cases.bundle_id, cases.environment,
            array_position(ARRAY['high', 'medium', 'low'], cases.likelihood) AS likelihood_rank, owner.user_id,
            CASE WHEN owner.user_id IS NULL THEN cases.transaction_id END AS standing_alone, white.purchased_at,
            products.type AS listed_type, products.name AS product_name,
            (\(milliunits))::bigint AS milliunits,
            \(currency) AS currency,
            coalesce(subscription.is_listed, \(BookedPrice.isListed("white"))) AS is_list_price,
            subscription.paid_until
        FROM cases
        JOIN white USING (transaction_id, bundle_id, environment)
        CROSS JOIN LATERAL (
            -- Sorted by bytes, which takes a third of the time.
            SELECT
                CASE WHEN cardinality(cases.owner_user_ids) = 1 THEN cases.owner_user_ids[1] END COLLATE "C" AS user_id
        ) AS owner
        LEFT JOIN products USING (bundle_id, product_id)
        \(subscription)
        WHERE cases.state = 'open'
        """

    /// The open cases with everything from which their money is counted.
    static let priced: SQL = """
        FROM cases
        JOIN white USING (transaction_id, bundle_id, environment)
        LEFT JOIN products USING (bundle_id, product_id)
        \(subscription)
        WHERE cases.state = 'open'
        """

    /// The run that told of a case. One that the desk has reopened since (0) is as it was opened, until the next run tells
    /// of it.
    static let toldRunID: SQL =
        "CASE WHEN cases.reopened_run_id = 0 THEN cases.opened_run_id ELSE cases.told_run_id END"

    /// The run that opened it again.
    static let reopenedRunID: SQL = "nullif(cases.reopened_run_id, 0)"

    /// What was paid for a case.
    static let milliunits: SQL = "coalesce(subscription.milliunits, \(BookedPrice.milliunits(of: "white")))"

    static let currency: SQL = "head.currency"

    /// What a case tells of a subscription together: the money of its periods without access, as far as they were paid
    /// in the currency of the first, and until when it is paid.
    static let subscription: SQL = """
        CROSS JOIN LATERAL (SELECT \(BookedPrice.currency(of: "white")) AS currency) AS head
        LEFT JOIN LATERAL (
            SELECT
                sum(price.milliunits) FILTER (
                    WHERE period.place = 'white' AND period.transaction_id = ANY (cases.periods)
                        AND price.currency = head.currency)::bigint AS milliunits,
                bool_or(\(BookedPrice.isListed("period"))) FILTER (
                    WHERE period.place = 'white' AND period.transaction_id = ANY (cases.periods)
                        AND price.currency = head.currency AND price.milliunits IS NOT NULL)
                    AS is_listed,
                max(period.expires_at) FILTER (WHERE period.refunded_at IS NULL) AS paid_until
            FROM transactions AS period
            -- Each by the list price of its own product.
            LEFT JOIN products ON products.bundle_id = period.bundle_id AND products.product_id = period.product_id
            CROSS JOIN LATERAL (
                SELECT
                    \(BookedPrice.milliunits(of: "period")) AS milliunits,
                    \(BookedPrice.currency(of: "period")) AS currency
            ) AS price
            WHERE cases.periods <> '{}'
                AND iap.is_of_original(
                    period.transaction_id, period.original_transaction_id, white.original_transaction_id)
                AND period.bundle_id = white.bundle_id AND period.environment = white.environment
                AND period.place <> 'excluded'
        ) AS subscription ON true
        """
}

extension CustomerCases {
    /// What `OpenCases` tells beside a case; `nil` if it is its customer's only one.
    init?(_ row: Row) throws {
        let count = try row.decode("customer_cases", as: Int.self)
        guard count > 1, let userID = try row.decode("user_id", as: String?.self) else { return nil }
        let ranks = Likelihood.allCases
        let rank = Int(try row.decode("customer_rank", as: Int32.self)) - 1
        guard ranks.indices.contains(rank) else { return nil }
        let currencies = try row.decode("customer_currencies", as: [String]?.self) ?? []
        let sums = try row.decode("customer_milliunits", as: [Int64]?.self) ?? []
        self.init(
            bundleID: try row.id("bundle_id"), userID: userID, count: count, likelihood: ranks[rank],
            oldestPurchase: try row.decode("customer_oldest"),
            money: try zip(sums, currencies).map { sum, code in
                Money(milliunits: sum, currency: try row.currency(code, in: "customer_currencies"))
            }.sorted { $0.currency < $1.currency },
            unpriced: try row.decode("customer_unpriced"))
    }
}
