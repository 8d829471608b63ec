-- The control totals of runs and days, and what they differ by.

CREATE FUNCTION iap.is_balanced(r iap.runs) RETURNS boolean
LANGUAGE sql IMMUTABLE
-- Parsed here and now: finance's view calls it, and finance may not look into the schema.
RETURN
    r.verified[1] = r.newly_white[1] + r.already_white[1] + r.already_black[1] + r.excluded[1]
    AND r.verified[2] = r.newly_white[2] + r.already_white[2] + r.already_black[2] + r.excluded[2]
    AND r.verified[3] = r.newly_white[3] # r.already_white[3] # r.already_black[3] # r.excluded[3]
    AND r.closing_white[1] = r.opening_white[1] + r.new[1] - r.claimed[1] - r.resolved[1] - r.refunded[1]
    AND r.closing_white[2] = r.opening_white[2] + r.new[2] - r.claimed[2] - r.resolved[2] - r.refunded[2]
    AND r.closing_white[3] = r.opening_white[3] # r.new[3] # r.claimed[3] # r.resolved[3] # r.refunded[3];
COMMENT ON FUNCTION iap.is_balanced IS
    'Whether a run found a place for all that it verified, and what entered and left white explains what is in it; '
    'NULL where the books are not closed and nothing else is wrong.';

CREATE VIEW finance.control_totals AS
WITH checked AS (
    SELECT
        runs.*, iap.is_balanced(ROW(runs.*)::iap.runs) AS is_balanced,
        lag(closing_white, 1, '{0,0,0}') OVER (ORDER BY closing_number) AS closed_before
    FROM iap.runs
)
SELECT
    run_id, (as_of AT TIME ZONE 'UTC')::date AS day, started_at, state, position, total, figures[1] AS transactions,
    figures[2] AS units, figures[3] AS hash,
    is_balanced AND opening_white = closed_before AS balances
FROM checked
CROSS JOIN LATERAL (
    VALUES
        (1, 'verified', verified), (2, 'newly white', newly_white), (3, 'already white', already_white),
        (4, 'already black', already_black), (5, 'excluded', excluded), (6, 'opening white', opening_white),
        (7, 'new', new), (8, 'claimed', claimed), (9, 'resolved', resolved), (10, 'refunded', refunded),
        (11, 'closing white', closing_white)
) AS total (position, total, figures)
WHERE state <> 'running';
COMMENT ON VIEW finance.control_totals IS
    'What each run counted, eleven rows a run. Verified transactions are newly white, already white, already black or '
    'excluded; opening white and new, less claimed, resolved and refunded, is closing white; and each run opens with '
    'what the one before closed with.';
COMMENT ON COLUMN finance.control_totals.day IS 'The day of the moment that the run took for the present.';
COMMENT ON COLUMN finance.control_totals.started_at IS 'When it started.';
COMMENT ON COLUMN finance.control_totals.state IS
    'complete, ended_early, failed, or abandoned: killed, as a later run found.';
COMMENT ON COLUMN finance.control_totals.position IS 'The row''s place among the eleven.';
COMMENT ON COLUMN finance.control_totals.total IS 'What is counted.';
COMMENT ON COLUMN finance.control_totals.transactions IS 'How many; NULL where the run did not close its books.';
COMMENT ON COLUMN finance.control_totals.hash IS
    'The exclusive or of a hash of each transaction id: shows one transaction in another''s place.';
COMMENT ON COLUMN finance.control_totals.balances IS
    'Whether all of the run''s totals balance; NULL where its books are not closed and nothing else is wrong.';

CREATE VIEW finance.control_totals_by_day AS
WITH counted AS (
    SELECT
        day,
        run_id,
        bool_and(balances) AS balances,
        sum(transactions) FILTER (WHERE total = 'verified') AS received,
        sum(units) FILTER (WHERE total = 'verified') AS units,
        sum(transactions) FILTER (WHERE total IN ('newly white', 'already white')) AS white,
        sum(transactions) FILTER (WHERE total = 'newly white') AS newly_white,
        sum(transactions) FILTER (WHERE total = 'already black') AS black,
        sum(transactions) FILTER (WHERE total = 'excluded') AS excluded
    FROM finance.control_totals
    GROUP BY day, run_id
)
SELECT
    day, count(*) AS runs, sum(received)::bigint AS received, sum(units)::bigint AS units, sum(white)::bigint AS white,
    sum(newly_white)::bigint AS newly_white, sum(black)::bigint AS black, sum(excluded)::bigint AS excluded,
    (sum(received) - sum(white) - sum(black) - sum(excluded))::bigint AS difference,
    CASE WHEN bool_and(balances) IS FALSE OR count(balances) = count(*) THEN bool_and(balances) END AS balances
FROM counted
GROUP BY day;
COMMENT ON VIEW finance.control_totals_by_day IS
    'What the runs of each day received from Apple, and where it is: received is white, black and excluded together.';
COMMENT ON COLUMN finance.control_totals_by_day.day IS 'The day of the moment that the runs took for the present.';
COMMENT ON COLUMN finance.control_totals_by_day.runs IS 'How many runs ended, well or not.';
COMMENT ON COLUMN finance.control_totals_by_day.received IS
    'Transactions that Apple vouched for in those runs; one that two runs received counts twice.';
COMMENT ON COLUMN finance.control_totals_by_day.white IS 'Of these: paid, and not claimed.';
COMMENT ON COLUMN finance.control_totals_by_day.newly_white IS 'Of the white: for the first time.';
COMMENT ON COLUMN finance.control_totals_by_day.black IS 'Of these: delivered.';
COMMENT ON COLUMN finance.control_totals_by_day.excluded IS 'Of these: not owed.';
COMMENT ON COLUMN finance.control_totals_by_day.difference IS 'Received, less white, black and excluded: 0.';
COMMENT ON COLUMN finance.control_totals_by_day.balances IS
    'Whether all totals of all those runs balance; NULL where a run did not close its books and nothing else is wrong.';

CREATE VIEW finance.differences AS
SELECT
    found.transaction_id, found.bundle_id, found.environment, 'nowhere' AS difference,
    min(found.first_run_id) AS run_id, false AS is_white, false AS is_black, false AS is_excluded
FROM iap.sightings AS found
WHERE found.first_run_id IS NOT NULL
    AND NOT EXISTS (
        SELECT FROM iap.transactions
        WHERE transactions.transaction_id = found.transaction_id AND transactions.bundle_id = found.bundle_id
            AND transactions.environment = found.environment)
GROUP BY found.transaction_id, found.bundle_id, found.environment;
COMMENT ON VIEW finance.differences IS
    'Each transaction by which received is not white, black and excluded together. None, when all is well: a row of '
    'the ledger is in one place, so this finds only what somebody removed by hand. Looks at the whole ledger, unless a '
    'transaction_id is asked for.';
COMMENT ON COLUMN finance.differences.environment IS 'Production, or Sandbox.';
COMMENT ON COLUMN finance.differences.difference IS 'nowhere: a run received it, and it is in none of the three.';
COMMENT ON COLUMN finance.differences.run_id IS 'The run that received it first.';
COMMENT ON COLUMN finance.differences.is_white IS
    'Whether it is in white: false, as is_black and is_excluded are, since what is nowhere is in none of them.';
COMMENT ON COLUMN finance.differences.is_black IS 'Whether it is in black: false.';
COMMENT ON COLUMN finance.differences.is_excluded IS 'Whether it is excluded: false.';
