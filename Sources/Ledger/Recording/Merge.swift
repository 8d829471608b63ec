import Foundation
import PostgreSQL
import Reconciliation

/// The set-based merge of the staged batch into white, black and excluded, a statement a method, in the order in
/// which `record` runs them. A row locked by the merge stays locked until the batch commits.
struct Merge {
    let connection: Connection
    let record: BatchRecord

    var bucket: Int16 { Int16(record.bucket) }

    /// Notes refunds of what was delivered; the goods stay delivered.
    func refundDelivered() async throws {
        try await connection.execute(
            """
            WITH refunded AS (
                UPDATE black
                SET refunded_at = verified.refunded_at,
                    refund_reason = verified.refund_reason,
                    refund_run_id = \(record.runID),
                    seal = \(Seal.black.renewed(with: ["refunded_at": "verified.refunded_at"]))
                FROM verified
                WHERE verified.bucket = \(bucket) AND verified.is_best AND verified.refunded_at IS NOT NULL
                    AND black.transaction_id = verified.transaction_id
                    AND black.bundle_id = verified.bundle_id
                    AND black.environment = verified.environment
                    AND black.refunded_at IS NULL
                RETURNING
                    black.transaction_id, black.bundle_id, black.environment, black.refunded_at, black.refund_reason
            )
            INSERT INTO events (happened_at, kind, actor, run_id, transaction_id, bundle_id, environment, details)
            SELECT
                \(record.now), 'refunded', 'iap-reconcile', \(record.runID), transaction_id, bundle_id, environment,
                jsonb_strip_nulls(jsonb_build_object('refunded_at', refunded_at, 'reason', refund_reason))
            FROM refunded
            ORDER BY transaction_id, bundle_id, environment
            """)
    }

    /// Counts the night for what is white already, and takes over what a source at least as good says. What was admitted
    /// with this batch stays as it is.
    func confirm() async throws {
        try await connection.execute(
            """
            UPDATE white
            SET source = greatest(white.source, verified.source),
                verified_at = CASE WHEN verified.source >= white.source
                    THEN verified.verified_at ELSE white.verified_at END,
                product_type = CASE WHEN verified.source >= white.source
                    THEN coalesce(verified.product_type, white.product_type)
                    ELSE coalesce(white.product_type, verified.product_type) END,
                expires_at = CASE WHEN verified.source >= white.source
                    THEN coalesce(verified.expires_at, white.expires_at)
                    ELSE coalesce(white.expires_at, verified.expires_at) END,
                original_purchased_at = coalesce(white.original_purchased_at, verified.original_purchased_at),
                web_order_line_item_id = coalesce(white.web_order_line_item_id, verified.web_order_line_item_id),
                app_account_token = coalesce(white.app_account_token, verified.app_account_token),
                price_milliunits = coalesce(white.price_milliunits, verified.price_milliunits),
                currency = CASE WHEN white.price_milliunits IS NULL THEN verified.currency ELSE white.currency END,
                storefront = coalesce(white.storefront, verified.storefront),
                booked_milliunits = coalesce(
                    white.price_milliunits, verified.price_milliunits, white.booked_milliunits),
                booked_currency = CASE WHEN white.price_milliunits IS NULL AND verified.price_milliunits IS NOT NULL
                    THEN verified.currency ELSE white.booked_currency END,
                booked_as = CASE WHEN white.price_milliunits IS NULL AND verified.price_milliunits IS NOT NULL
                    THEN 'apple' ELSE white.booked_as END,
                nights_confirmed = white.nights_confirmed + CASE WHEN \(isAnotherNight) THEN 1 ELSE 0 END,
                last_confirmed_at = CASE WHEN \(isAnotherNight)
                    THEN verified.verified_at ELSE white.last_confirmed_at END,
                seal = CASE WHEN white.price_milliunits IS NULL AND verified.price_milliunits IS NOT NULL
                    THEN \(Seal.white.renewed(
                        with: ["price_milliunits": "verified.price_milliunits", "currency": "verified.currency"]))
                    ELSE white.seal END
            FROM verified
            WHERE verified.bucket = \(bucket) AND verified.is_best AND verified.exclusion IS NULL
                AND white.transaction_id = verified.transaction_id
                AND white.bundle_id = verified.bundle_id
                AND white.environment = verified.environment
                AND (
                    \(isAnotherNight)
                    OR verified.source > white.source
                    OR (white.app_account_token IS NULL AND verified.app_account_token IS NOT NULL)
                    OR (white.price_milliunits IS NULL AND verified.price_milliunits IS NOT NULL))
            """)
    }

    /// Half a night: two runs of one night count once, however far cron drifts.
    private let isAnotherNight: SQL =
        """
        (white.last_confirmed_at IS NULL
            OR verified.verified_at >= white.last_confirmed_at + interval '12 hours')
        """

    /// What finance counts the purchase as, said here so that no trigger need look it up row by row.
    let booked: SQL =
        """
        CASE
            WHEN price_milliunits IS NOT NULL THEN price_milliunits
            WHEN is_trial THEN 0
            ELSE list_price_milliunits * quantity
        END,
        CASE WHEN price_milliunits IS NOT NULL THEN verified.currency ELSE listed.currency END,
        CASE
            WHEN price_milliunits IS NOT NULL THEN 'apple'
            WHEN is_trial THEN 'trial'
            WHEN list_price_milliunits IS NOT NULL THEN 'list'
            ELSE 'unknown'
        END
        """

    let listPrices: SQL =
        """
        LEFT JOIN (SELECT bundle_id, product_id, list_price_milliunits, currency FROM products) AS listed
            USING (bundle_id, product_id)
        """

    /// Takes what is owed, not delivered and not yet known into white. Added up where it is: a night's rows need not be
    /// sent to be counted.
    func admit() async throws -> Tally {
        let rows = try await connection.query(
            """
            WITH admitted AS (
                INSERT INTO white (
                    transaction_id, bundle_id, environment, original_transaction_id, product_id, product_type, quantity,
                    purchased_at, original_purchased_at, expires_at, is_trial, web_order_line_item_id,
                    app_account_token, price_milliunits, currency, storefront, booked_milliunits, booked_currency,
                    booked_as, source, verified_at, first_seen_at, first_run_id, nights_confirmed, last_confirmed_at,
                    seal)
                SELECT
                    transaction_id, bundle_id, environment, original_transaction_id, product_id, product_type, quantity,
                    purchased_at, original_purchased_at, expires_at, is_trial, web_order_line_item_id,
                    app_account_token, price_milliunits, verified.currency, storefront, \(booked), source, verified_at,
                    \(record.now), \(record.runID), 1, verified_at,
                    \(Seal.white.of(["currency": "verified.currency", "first_seen_at": "\(record.now)"]))
                FROM verified
                \(listPrices)
                WHERE bucket = \(bucket) AND is_best AND exclusion IS NULL
                    AND NOT EXISTS (
                        SELECT FROM black
                        WHERE black.transaction_id = verified.transaction_id
                            AND black.bundle_id = verified.bundle_id
                            AND black.environment = verified.environment)
                    AND NOT EXISTS (
                        SELECT FROM excluded
                        WHERE excluded.transaction_id = verified.transaction_id
                            AND excluded.bundle_id = verified.bundle_id
                            AND excluded.environment = verified.environment)
                ORDER BY transaction_id, bundle_id, environment
                ON CONFLICT (transaction_id, bundle_id, environment) DO NOTHING
                RETURNING quantity, hashtextextended(transaction_id, 0) AS hash
            )
            SELECT
                count(*) AS transactions, coalesce(sum(quantity), 0) AS units, coalesce(bit_xor(hash), 0) AS hash
            FROM admitted
            """)
        return try rows.reduce(into: Tally()) { $0 += try Tally(sum: $1) }
    }

    /// Takes out of white what was delivered while the batch was being merged: a claim that the merge waited for
    /// leaves its row in black, which the statement before could not see yet.
    func withdrawDelivered() async throws -> (new: Tally, old: Tally) {
        let rows = try await connection.query(
            """
            DELETE FROM white
            USING verified, black
            WHERE verified.bucket = \(bucket) AND verified.is_best
                AND white.transaction_id = verified.transaction_id
                AND white.bundle_id = verified.bundle_id
                AND white.environment = verified.environment
                AND black.transaction_id = verified.transaction_id
                AND black.bundle_id = verified.bundle_id
                AND black.environment = verified.environment
            RETURNING
                white.first_run_id IS NOT DISTINCT FROM \(record.runID) AND white.first_seen_at = \(record.now)
                    AS is_new,
                white.quantity, hashtextextended(white.transaction_id, 0) AS hash
            """)
        var (new, old) = (Tally(), Tally())
        for row in rows {
            if try row.decode("is_new", as: Bool.self) { new += try Tally(row) } else { old += try Tally(row) }
        }
        return (new, old)
    }

    /// Remembers in which receipts each transaction was seen, and who handed them in.
    func sight() async throws {
        try await connection.execute(
            """
            INSERT INTO sightings AS known (
                transaction_id, bundle_id, environment, bucket, receipt_id, user_id, order_id, is_named, in_receipt,
                uploaded_at, first_run_id)
            SELECT
                transaction_id, bundle_id, environment, bucket, receipt_id, user_id, order_id, is_named, in_receipt,
                uploaded_at, \(record.runID)
            FROM verified
            WHERE bucket = \(bucket)
            ON CONFLICT (transaction_id, bundle_id, environment, bucket, receipt_id) DO UPDATE
            SET is_named = known.is_named OR EXCLUDED.is_named,
                in_receipt = known.in_receipt OR EXCLUDED.in_receipt,
                order_id = coalesce(known.order_id, EXCLUDED.order_id)
            WHERE (EXCLUDED.is_named AND NOT known.is_named)
                OR (EXCLUDED.in_receipt AND NOT known.in_receipt)
                OR (known.order_id IS NULL AND EXCLUDED.order_id IS NOT NULL)
            """)
    }

    /// Leaves the staging table empty.
    func clear() async throws {
        try await connection.execute("DELETE FROM verified WHERE bucket = \(bucket)")
    }
}

extension Tally {
    /// Many transactions, from a row in which they were added up.
    init(sum row: Row) throws {
        self.init(
            transactions: try row.decode("transactions"), units: try row.decode("units"), hash: try row.decode("hash"))
    }

    /// One transaction, from a row with its quantity and the hash of its id.
    init(_ row: Row) throws {
        self.init(
            transactions: 1, units: Int(try row.decode("quantity", as: Int32.self)), hash: try row.decode("hash"))
    }
}
