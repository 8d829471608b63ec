public import Foundation
import PostgreSQL
public import Reconciliation

extension LedgerSession {
    /// Makes those settled receipts due again that hold a transaction which a setting of its app excluded, and which
    /// today's settings let through: a setting that was wrong for a night must not cost anybody a purchase.
    ///
    /// - Returns: how many receipts are verified again for it; `nil` if all that is excluded stays so.
    public func reconsider(_ apps: [App], at now: Date) async throws(LedgerError) -> Int? {
        try await translating {
            var held: [Row] = []
            for app in apps { held += try await receiptsHoldingReleased(of: app) }
            guard !held.isEmpty else { return nil }
            return try await watchAgain(held, at: now)
        }
    }

    /// Makes those receipts of these apps due again that were given up because the app had no key for the App Store
    /// Server API.
    ///
    /// - Returns: how many receipts are verified again for it.
    public func verifyWithKey(_ apps: [App], at now: Date) async throws(LedgerError) -> Int {
        guard !apps.isEmpty else { return 0 }
        return try await translating {
            // The problem is written as in the index that finds them.
            try await connection.execute(
                """
                UPDATE \(stored: .receipts)
                SET state = 'waiting', next_attempt_at = \(now),
                    seal = \(ReceiptSeal.renewed(of: "receipts", state: "'waiting'"))
                WHERE bundle_id = ANY (\(apps.map(\.bundleID.text)))
                    AND error_code = 'needs_key' AND next_attempt_at IS NULL AND payload IS NOT NULL
                """)
        }
    }

    /// Has owed, by what the ledger holds of them, purchases that a setting of their app excluded and today's settings
    /// let through, where no receipt of theirs can be verified again for that: the payloads were purged. A dry run, which
    /// verifies nothing again either, leaves them.
    ///
    /// - Returns: how many.
    public func releasePurged(_ apps: [App], runID: Int64, at now: Date) async throws(LedgerError) -> Int {
        guard !isShadowed else { return 0 }
        return try await translating {
            var count = 0
            for app in apps { count += try await releasePurged(of: app, runID: runID, at: now) }
            return count
        }
    }

    private static let releasedAtOnce: Int64 = 5000

    private func releasePurged(of app: App, runID: Int64, at now: Date) async throws -> Int {
        var count: Int64 = 0
        var last = ""
        while true {
            let page = try await connection.query(
                """
                SELECT transaction_id, array_agg(sightings.receipt_id) AS receipt_ids
                \(released(of: app)) AND transaction_id > \(last)
                GROUP BY transaction_id
                ORDER BY transaction_id
                LIMIT \(Self.releasedAtOnce)
                """)
            guard let end = try page.last?.decode("transaction_id", as: String.self) else { return Int(count) }
            last = end
            let unread = try await withoutPayload(page)
            guard !unread.isEmpty else { continue }
            count += try await connection.only(
                """
                SELECT iap.release_unread(
                    \(app.bundleID.text), \(app.environment.rawValue), \(unread), \(runID), \(now)) AS count
                """
            ).decode("count", as: Int64.self)
        }
    }

    /// Those of these transactions none of whose receipts has its payload.
    private func withoutPayload(_ page: [Row]) async throws -> [String] {
        let receipts = try page.map { try $0.decode("receipt_ids", as: [Int64].self) }
        let kept = try await connection.query(
            """
            SELECT receipt_id
            FROM \(receipts: Set(receipts.joined()).sorted(), of: "\(stored: .receipts)")
            WHERE payload IS NOT NULL
            """)
        let legible = Set(try kept.map { try $0.decode("receipt_id", as: Int64.self) })
        return try zip(page, receipts).filter { legible.isDisjoint(with: $1) }
            .map { try $0.0.decode("transaction_id", as: String.self) }
    }

    /// Makes the settled receipts due again that hold what is owed again, as access that the app's server took back: mostly
    /// because Apple refunded it, and then it is not owed. What was taken back while a night was under way is looked for
    /// by the next ones.
    ///
    /// - Returns: how many receipts are verified again for it.
    public func watchOwedAgain(at now: Date) async throws(LedgerError) -> Int {
        try await translating {
            let held = try await connection.query(
                """
                SELECT DISTINCT sightings.bucket, sightings.receipt_id
                FROM \(stored: .moves)
                JOIN \(stored: .transactions) USING (transaction_id, bundle_id, environment)
                JOIN \(stored: .sightings) USING (transaction_id, bundle_id, environment)
                WHERE moves.kind IN ('revoked', 'reopened', 'released') AND transactions.place = 'white'
                    AND moves.moved_at
                        > least(\(now), (SELECT closed_at FROM audit.frontier)) - interval '3 days'
                ORDER BY sightings.bucket, sightings.receipt_id
                """)
            return held.isEmpty ? 0 : try await watchAgain(held, at: now)
        }
    }

    /// Makes those of these receipts due again that are settled and were not purged; says how many.
    func watchAgain(_ held: [Row], at now: Date) async throws -> Int {
        try await connection.execute(
            """
            UPDATE \(stored: .receipts)
            SET state = 'watched', next_attempt_at = \(now),
                seal = \(ReceiptSeal.renewed(of: "receipts", state: "'watched'"))
            FROM unnest(
                \(try held.map { try $0.decode("bucket", as: Int16.self) }),
                \(try held.map { try $0.decode("receipt_id", as: Int64.self) })
            ) AS held (bucket, receipt_id)
            WHERE receipts.bucket = held.bucket AND receipts.receipt_id = held.receipt_id
                AND receipts.state = 'settled' AND receipts.payload IS NOT NULL
            """)
    }

    private func receiptsHoldingReleased(of app: App) async throws -> [Row] {
        try await connection.query(
            """
            SELECT DISTINCT sightings.bucket, sightings.receipt_id
            \(released(of: app))
            ORDER BY sightings.bucket, sightings.receipt_id
            """)
    }

    /// The sightings of what a setting of an app excluded and today's settings let through, from `FROM` on.
    ///
    /// Looks at one app at a time: only if the planner knows the start does it see that next to nothing of years lies
    /// after it. The reasons are those that a setting of the app decides, and not Apple. They are written as in the
    /// index that finds them: of parameters the planner would not know that they are the same. What was restored was
    /// bought when its original was, as in the rule `beforeStart`; otherwise it would be verified again each night. A
    /// refund of what was taken for the sandbox's counts nowhere until then.
    private func released(of app: App) -> SQL {
        """
        FROM \(stored: .transactions)
        JOIN \(stored: .sightings) USING (transaction_id, bundle_id, environment)
        LEFT JOIN products USING (bundle_id, product_id)
        CROSS JOIN LATERAL (
            SELECT iap.type_by(transactions.product_type, transactions.source, products.type) AS type
        ) AS sold
        WHERE bundle_id = \(app.bundleID.text) AND environment = \(app.environment.rawValue)
            AND purchased_at >= coalesce(\(app.since as Date?), '-infinity')
            AND reason IN ('sandbox', 'before_start') AND (refunded_at IS NULL OR reason = 'sandbox')
            AND (
                coalesce(sold.type, 'non_consumable') <> 'non_consumable'
                OR (sold.type IS NULL AND expires_at IS NOT NULL)
                OR coalesce(original_purchased_at >= \(app.since as Date?), true))
        """
    }
}
