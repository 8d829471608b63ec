import PostgreSQL
import Reconciliation

extension IntegrityCheck {
    static let unbalancedRuns: SQL = """
        SELECT 'run ' || run_id AS example
        FROM (
            SELECT
                run_id, opening_white, closing_number, iap.is_balanced(ROW(runs.*)::iap.runs) AS is_balanced,
                lag(closing_white, 1, '{0,0,0}') OVER (ORDER BY closing_number) AS closed_before,
                lag(closing_number, 1, 0::bigint) OVER (ORDER BY closing_number) AS number_before
            FROM runs
            WHERE state <> 'running'
        ) AS run
        WHERE NOT is_balanced
            OR (closing_number IS NOT NULL AND (opening_white <> closed_before OR closing_number <> number_before + 1))
        """

    /// The frontiers between which a link lies, if the link before it reached up to this number. What came late to it
    /// lies beyond the first, and what came late to a later one, or to none yet, lies beyond the second.
    private static func frontiers(before upto: SQL) -> SQL {
        """
        ROW(
            true, \(upto),
            coalesce((SELECT range_agg(int8range(number, number + 1)) FROM unnest(links.late) AS number), '{}'),
            now(), '0'::xid8)::audit.frontier,
        links.upto,
        (SELECT gaps FROM audit.frontier) + coalesce(uncovered.numbers, '{}')
        """
    }

    /// What entered and moved is added up by the links of the chain, each of which is of one run. What white held then
    /// is not asked: for each run all that came after it would be read, which grows with the square of the years.
    static let runsUnlikeMoves: SQL = """
        SELECT 'run ' || runs.run_id AS example
        FROM runs
        JOIN audit.links USING (run_id)
        LEFT JOIN audit.links AS before ON before.position = links.position - 1
        LEFT JOIN audit.uncovered ON uncovered.position = links.position
        CROSS JOIN LATERAL white_turnover(
            \(frontiers(before: "coalesce(before.upto, 0)"))) AS told
        WHERE closing_number IS NOT NULL
            AND (runs.new, runs.claimed, runs.resolved, runs.refunded)
                IS DISTINCT FROM (told.new, told.claimed, told.resolved, told.refunded)
        """

    static let unexplained: SQL = """
        SELECT concat_ws(' ', account, bundle_id, product_id) AS example FROM finance.unexplained
        """

    /// What a run books depends on the days that were closed before it.
    static let booksUnlikeMoves: SQL = """
        SELECT concat_ws(' ', 'run', run_id, account, booked_on, bundle_id, product_id) AS example
        FROM (
            SELECT
                run_id, booked_on, account, day, bundle_id, product_id, currency, price_source, detail, transactions,
                units, milliunits
            FROM books
            UNION ALL
            SELECT
                told.run_id, booked_on, account, day, bundle_id, product_id, currency, price_source, detail,
                -transactions, -told.units, -milliunits
            FROM closings AS links
            LEFT JOIN audit.uncovered ON uncovered.position = links.position
            CROSS JOIN LATERAL booked(
                links.run_id, links.closed_before,
                \(frontiers(before: "links.upto_before"))) AS told
        ) AS line
        GROUP BY
            run_id, booked_on, account, day, bundle_id, product_id, currency, price_source, detail,
            -- What is free is worth 0, and what has no price nothing that is known.
            milliunits IS NULL
        HAVING sum(transactions) <> 0 OR sum(units) <> 0 OR sum(milliunits) <> 0
        """

    static let daysClosedOtherwise: SQL = """
        SELECT 'run ' || run_id AS example
        FROM closings
        WHERE closed_through IS DISTINCT FROM greatest(closed_before, (as_of AT TIME ZONE 'UTC')::date - 1)
        UNION ALL
        -- Of a run that closed no books.
        SELECT 'run ' || run_id
        FROM runs
        WHERE closed_through IS NOT NULL AND run_id NOT IN (SELECT run_id FROM audit.links)
        """

    static let whiteUnlikeBooks: SQL = """
        SELECT
            format(
                '%s transactions of %s units, where %s of %s should be', closing_white[1], closing_white[2],
                expected[1], expected[2]) AS example
        FROM (
            SELECT
                closing_white,
                ARRAY[
                    opening[1] + new[1] - claimed[1] - resolved[1] - refunded[1],
                    opening[2] + new[2] - claimed[2] - resolved[2] - refunded[2],
                    opening[3] # new[3] # claimed[3] # resolved[3] # refunded[3]
                ] AS expected
            FROM white_totals((SELECT frontier FROM audit.frontier), 9223372036854775807, '{}')
            CROSS JOIN (
                SELECT coalesce(
                    (
                        SELECT closing_white FROM runs
                        WHERE closing_number IS NOT NULL
                        ORDER BY closing_number DESC
                        LIMIT 1
                    ), '{0,0,0}') AS opening
            ) AS before
        ) AS white
        WHERE closing_white <> expected
        """
}
