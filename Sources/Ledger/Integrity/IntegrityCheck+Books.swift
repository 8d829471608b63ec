import PostgreSQL
import Reconciliation

extension IntegrityCheck {
    static let unbalancedRuns: SQL = """
        SELECT 'run ' || run_id AS example
        FROM (
            SELECT
                *,
                lag(closing_white, 1, '{0,0,0}') OVER (ORDER BY closing_number) AS closed_before,
                lag(closing_number, 1, 0::bigint) OVER (ORDER BY closing_number) AS number_before
            FROM runs
            WHERE state <> 'running'
        ) AS run
        WHERE verified[1] <> newly_white[1] + already_white[1] + already_black[1] + excluded[1]
            OR verified[2] <> newly_white[2] + already_white[2] + already_black[2] + excluded[2]
            OR verified[3] <> newly_white[3] # already_white[3] # already_black[3] # excluded[3]
            OR opening_white[1] + new[1] - claimed[1] - resolved[1] - refunded[1] <> closing_white[1]
            OR opening_white[2] + new[2] - claimed[2] - resolved[2] - refunded[2] <> closing_white[2]
            OR opening_white[3] # new[3] # claimed[3] # resolved[3] # refunded[3] <> closing_white[3]
            OR (closing_number IS NOT NULL AND (opening_white <> closed_before OR closing_number <> number_before + 1))
        """

    static let runsUnlikeMovements: SQL = """
        SELECT 'run ' || run_id AS example
        FROM (
            SELECT
                runs.run_id,
                journalled.kind,
                CASE journalled.kind
                    WHEN 'new' THEN new
                    WHEN 'claimed' THEN claimed
                    WHEN 'resolved' THEN resolved
                    ELSE refunded
                END AS booked,
                ARRAY[
                    coalesce(sum(transactions), 0), coalesce(sum(units), 0), coalesce(bit_xor(hash), 0)
                ]::bigint[] AS journal
            FROM runs
            CROSS JOIN (VALUES ('new'), ('claimed'), ('resolved'), ('refunded')) AS journalled (kind)
            LEFT JOIN movements ON movements.closed_run_id = runs.run_id AND movements.kind = journalled.kind
            WHERE closing_number IS NOT NULL
            GROUP BY runs.run_id, journalled.kind
        ) AS run
        WHERE booked <> journal
        """

    static let whiteUnlikeBooks: SQL = """
        WITH journal AS (
            SELECT
                coalesce(sum(CASE kind WHEN 'new' THEN transactions ELSE -transactions END), 0) AS transactions,
                coalesce(sum(CASE kind WHEN 'new' THEN units ELSE -units END), 0) AS units,
                coalesce(bit_xor(hash), 0) AS hash
            FROM movements
            WHERE closed_run_id IS NULL
        ), closing AS (
            SELECT closing_white
            FROM runs
            WHERE closing_number IS NOT NULL
            ORDER BY closing_number DESC
            LIMIT 1
        ), held AS (
            SELECT
                count(*) AS transactions, coalesce(sum(quantity), 0) AS units,
                coalesce(bit_xor(hashtextextended(transaction_id, 0)), 0) AS hash
            FROM white
        ), expected AS (
            SELECT
                coalesce(closing_white[1], 0) + journal.transactions AS transactions,
                coalesce(closing_white[2], 0) + journal.units AS units,
                coalesce(closing_white[3], 0) # journal.hash AS hash
            FROM journal
            LEFT JOIN closing ON true
        )
        SELECT
            format(
                '%s transactions of %s units, where %s of %s should be', held.transactions, held.units,
                expected.transactions, expected.units) AS example
        FROM held
        CROSS JOIN expected
        WHERE (held.transactions, held.units, held.hash) <> (expected.transactions, expected.units, expected.hash)
        """
}
