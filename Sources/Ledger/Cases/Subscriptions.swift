import Foundation
import PostgreSQL
import Reconciliation

/// The first period without access of a subscription, as the sweep came upon it.
struct SubscriptionHead {
    /// Its position in the page.
    let index: Int
    let originalID: String
    /// Periods before this are not judged.
    let judgedFrom: Date
    let grace: TimeInterval
}

extension LedgerSession {
    /// Adds what is known of the subscriptions whose first periods without access are in the page.
    func addSubscriptions(
        _ heads: [SubscriptionHead], to page: inout [CaseFacts], toldUpTo told: Date, now: Date
    ) async throws {
        guard !heads.isEmpty else { return }
        var periods: [Int: [Subscription.Period]] = [:]
        for row in try await periodRows(of: heads, in: page, toldUpTo: told, now: now) {
            let index = Int(try row.decode("index", as: Int32.self))
            // The server that granted it knows best whose it is.
            if let user = try row.decode("user_id", as: String?.self) { page[index].admittedFor = user }
            // One account of Apple's may have paid for another user since.
            page[index].tokenOwners =
                (page[index].tokenOwners + (try row.decode("token_owners", as: [String].self))).exactlyUnique
            periods[index, default: []].append(
                Subscription.Period(
                    id: try row.id("transaction_id"),
                    isRunning: try row.decode("is_running"),
                    isTrial: try row.decode("is_trial"), isGrantedLate: try row.decode("is_granted_late")))
        }
        for (index, periods) in periods { page[index].subscription = Subscription(periods: periods) }
    }

    /// Every period without access of these subscriptions, the earliest first.
    private func periodRows(
        of heads: [SubscriptionHead], in page: [CaseFacts], toldUpTo told: Date, now: Date
    ) async throws -> [Row] {
        let keys = heads.map { page[$0.index].key }
        return try await connection.query(
            """
            SELECT
                head.index, period.transaction_id, period.is_trial, entitlements.user_id,
                ARRAY(
                    SELECT owner FROM iap.owners_by_token(period.bundle_id, period.app_account_token) AS owner
                ) AS token_owners,
                period.purchased_at <= \(now) AND coalesce(
                    period.expires_at, iap.over_at(period.t),
                    -- Nobody knows when it ends: no period is longer than a year, and what is bought once has no end.
                    CASE WHEN iap.type_of(period.t) = 'non_consumable' THEN 'infinity'
                        ELSE period.purchased_at + interval '1 year' END
                ) > \(now) AS is_running,
                coalesce(
                    iap.reaches(entitlements.entitled_until, period.expires_at)
                        AND NOT iap.is_bought_since(period.t, iap.said_for(period.t, entitlements)), false
                ) AS is_granted_late
            FROM unnest(
                \(heads.map { Int32($0.index) }), \(heads.map(\.originalID)), \(keys.map(\.bundleID.text)),
                \(keys.map(\.environment.rawValue)), \(heads.map(\.judgedFrom)), \(heads.map(\.grace))
            ) AS head (index, original_transaction_id, bundle_id, environment, judged_from, grace)
            CROSS JOIN LATERAL (
                SELECT white.*, ROW(white.*)::iap.transactions AS t
                FROM transactions AS white
                WHERE iap.is_of_original(
                        white.transaction_id, white.original_transaction_id, head.original_transaction_id)
                    AND white.bundle_id = head.bundle_id AND white.environment = head.environment
                    -- As in `hasEarlierPeriod`.
                    AND starts_with(white.place, 'white') AND white.purchased_at >= head.judged_from
                    AND white.purchased_at <= \(told) - head.grace * interval '1 second'
                OFFSET 0
            ) AS period
            LEFT JOIN entitlements
                ON entitlements.original_transaction_id = head.original_transaction_id
                AND entitlements.bundle_id = head.bundle_id
                AND NOT iap.is_granted_elsewhere(period.t, iap.said_for(period.t, entitlements))
            ORDER BY head.index, period.purchased_at, period.transaction_id
            """)
    }
}
