import PostgreSQL
import Reconciliation

extension IntegrityCheck {
    /// A transaction that is not where its latest move took it, that is not worth what that move says, or whose latest
    /// move is gone. Each night only what moved since the run before is looked at.
    static func misplaced(isNightly: Bool) -> SQL {
        guard isNightly else {
            return """
                SELECT t.transaction_id AS example
                FROM transactions AS t
                LEFT JOIN LATERAL (
                    SELECT * FROM moves
                    WHERE moves.transaction_id = t.transaction_id AND moves.bundle_id = t.bundle_id
                        AND moves.environment = t.environment
                    ORDER BY move_id DESC
                    LIMIT 1
                ) AS latest ON true
                WHERE latest.move_id IS DISTINCT FROM t.move_id OR (t.move_id IS NOT NULL AND \(isElsewhere))
                """
        }
        return """
            SELECT latest.transaction_id AS example
            FROM moves AS latest
            LEFT JOIN transactions AS t USING (transaction_id, bundle_id, environment)
            WHERE latest.move_id > coalesce(
                    (SELECT upto FROM audit.links ORDER BY position DESC OFFSET 1 LIMIT 1), 0)
                AND (t.move_id IS NULL OR (t.move_id = latest.move_id AND \(isElsewhere)))
            """
    }

    private static let isElsewhere: SQL = """
        ROW(
            latest.to_place, latest.to_detail, latest.to_day, latest.to_refund_day, latest.to_product_id,
            latest.to_units, latest.to_milliunits, latest.to_currency, latest.to_booked_as)::iap.position
        IS DISTINCT FROM iap.position_of(ROW(t.*)::iap.transactions)
        """

    static let movesOutOfSequence: SQL = """
        SELECT transaction_id AS example
        FROM (
            SELECT
                *,
                lag(ROW(
                    to_place, to_detail, to_day, to_refund_day, to_product_id, to_units, to_milliunits, to_currency,
                    to_booked_as)) OVER (PARTITION BY transaction_id, bundle_id, environment ORDER BY move_id)
                    AS before
            FROM moves
        ) AS move
        WHERE before IS NOT NULL
            AND before IS DISTINCT FROM ROW(
                from_place, from_detail, from_day, from_refund_day, from_product_id, from_units, from_milliunits,
                from_currency, from_booked_as)
        """

    static let claimsWithoutDelivery: SQL = """
        SELECT claims.transaction_id AS example
        FROM claims
        LEFT JOIN black
            ON black.transaction_id = claims.transaction_id AND black.bundle_id = claims.bundle_id
                AND black.user_id = claims.user_id AND black.delivered_by = 'claim'
        WHERE claims.outcome = 'delivered' AND black.transaction_id IS NULL
        """

    static let deliveriesWithoutClaim: SQL = """
        SELECT transaction_id AS example
        FROM black
        WHERE delivered_by = 'claim' AND NOT EXISTS (
            SELECT FROM claims
            WHERE claims.transaction_id = black.transaction_id AND claims.bundle_id = black.bundle_id
                AND claims.user_id = black.user_id AND claims.outcome = 'delivered')
        """

    /// What a family shares keeps nobody from what they paid for: see `iap.take_originals`. What the list of products
    /// says today of a row without a type may not be what it said when that was delivered: see `iap.take_mended`.
    static let deliveriesWithoutOriginal: SQL = """
        SELECT transaction_id AS example
        FROM transactions AS black
        CROSS JOIN LATERAL (
            SELECT '' AS period WHERE black.product_type = 'non_consumable'
            UNION ALL
            SELECT black.web_order_line_item_id WHERE black.web_order_line_item_id IS NOT NULL
        ) AS once
        WHERE black.place = 'black' AND NOT black.is_family_shared AND NOT EXISTS (
            SELECT FROM delivered_originals AS taken
            WHERE taken.original_transaction_id = black.original_transaction_id
                AND taken.bundle_id = black.bundle_id AND taken.environment = black.environment
                AND taken.web_order_line_item_id = once.period)
            AND NOT EXISTS (\(untaken("black")))
        """

    /// Such a row would keep another id of a paid purchase from being delivered.
    static let originalsWithoutDelivery: SQL = """
        SELECT transaction_id AS example
        FROM delivered_originals AS taken
        WHERE NOT EXISTS (
            SELECT FROM transactions AS black
            WHERE black.transaction_id = taken.transaction_id AND black.bundle_id = taken.bundle_id
                AND black.environment = taken.environment AND black.place = 'black'
                AND taken.original_transaction_id IN (black.original_transaction_id, black.transaction_id)
                AND taken.web_order_line_item_id IN ('', black.web_order_line_item_id))
            AND NOT EXISTS (\(untaken("taken")))
        """

    /// Whichever purchase has it. The other way around, a row may be of an order that an import names for a restored
    /// id, which is not black.
    static let deliveriesWithoutOrder: SQL = """
        SELECT transaction_id AS example
        FROM black
        WHERE order_id IS NOT NULL AND NOT EXISTS (
            SELECT FROM delivered_orders AS taken
            WHERE taken.order_id = black.order_id AND taken.bundle_id = black.bundle_id)
        """

    /// What the next night puts right by itself: see `iap.take_untaken`.
    private static func untaken(_ named: SQL) -> SQL {
        """
        SELECT FROM untaken_originals AS untaken
        WHERE untaken.transaction_id = \(named).transaction_id AND untaken.bundle_id = \(named).bundle_id
            AND untaken.environment = \(named).environment
        """
    }
}
