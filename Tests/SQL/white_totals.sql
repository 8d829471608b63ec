-- What entered and left white between two frontiers, why, and what it held at the later one.
BEGIN;
SELECT no_plan();

CREATE FUNCTION test.tally(units bigint, VARIADIC ids text[] DEFAULT '{}') RETURNS bigint[]
LANGUAGE sql AS $$
    SELECT ARRAY[count(*), units, coalesce(bit_xor(hashtextextended(id, 0)), 0)] FROM unnest(ids) AS id
$$;
CREATE FUNCTION test.totals(after bigint, upto bigint, gaps int8multirange DEFAULT '{}') RETURNS SETOF iap.white_totals
LANGUAGE sql SET search_path = pg_catalog, iap, pg_temp AS $$
    SELECT * FROM iap.white_totals(ROW(true, after, '{}', now(), '0')::audit.frontier, upto, gaps)
$$;
CREATE FUNCTION test.latest() RETURNS bigint
LANGUAGE sql AS $$ SELECT last_value FROM iap.trail $$;

SELECT results_eq(
    'SELECT * FROM test.totals(0, test.latest())',
    'SELECT nothing, nothing, nothing, nothing, nothing FROM test.tally(0) AS nothing', 'where nothing is, it is none');

SELECT test.admit('w' || number, quantity => 1 << number) FROM generate_series(0, 9) AS number;
SELECT test.latest() AS entered \gset
CREATE VIEW test.opening AS SELECT * FROM test.totals(0, :entered);
SELECT results_eq(
    'SELECT * FROM test.opening',
    $$SELECT all_of_it, test.tally(0), test.tally(0), test.tally(0), all_of_it
    FROM test.tally(1023, 'w0', 'w1', 'w2', 'w3', 'w4', 'w5', 'w6', 'w7', 'w8', 'w9') AS all_of_it$$,
    'what enters is new, and there');

-- Whoever delivered it; what the desk ended, or was not owed for another reason; and whoever refunded it.
SELECT test.claim('w1'), test.import(test.heard('w2'));
SELECT test.resolve('w3', 'delivered'), test.resolve('w4', 'dismissed'), test.exclude('w5', 'foreign_bundle');
SELECT test.exclude('w6', 'refunded'), test.resolve('w7', 'refunded');
SELECT test.latest() AS left_white \gset
SELECT results_eq(
    format('SELECT * FROM test.totals(%s, %s)', :entered, :left_white),
    $$VALUES (
        test.tally(0), test.tally(6, 'w1', 'w2'), test.tally(56, 'w3', 'w4', 'w5'), test.tally(192, 'w6', 'w7'),
        test.tally(769, 'w0', 'w8', 'w9'))$$, 'what leaves is claimed, resolved or refunded');

-- What comes, or comes back, is new; of what stays, the units are that it has more or fewer of.
SELECT test.reopen('w4'), test.reopen('w7'), test.hear(test.heard('w8', quantity => 266)), test.admit('x1');
SELECT test.hear(test.heard('w9', quantity => 500)), test.claim('w9');
SELECT test.hear(test.heard('x2', quantity => 30, exclusion => 'before_start')),
    test.hear(test.heard('x2', 'server_api', quantity => 40)), test.exclude('x3', 'family_shared');
SELECT results_eq(
    format('SELECT * FROM test.totals(%s, %s)', :left_white, test.latest()),
    $$VALUES (
        ARRAY[4, 16 + 128 + 10 + 1 - 12 + 40, (test.tally(0, 'w4', 'w7', 'x1', 'x2'))[3]], test.tally(500, 'w9'),
        test.tally(0), test.tally(0), test.tally(452, 'w0', 'w4', 'w7', 'w8', 'x1', 'x2'))$$,
    'what comes, comes back, or is corrected');
SELECT is(
    (SELECT closing_white FROM test.totals(0, test.latest())), test.white_tally(), 'at last it holds what is there');

-- Whatever has happened since.
SELECT results_eq(
    'SELECT * FROM test.opening',
    $$SELECT all_of_it, test.tally(0), test.tally(0), test.tally(0), all_of_it
    FROM test.tally(1023, 'w0', 'w1', 'w2', 'w3', 'w4', 'w5', 'w6', 'w7', 'w8', 'w9') AS all_of_it$$,
    'what was there at the first frontier is known of later');
-- And whatever others had not committed then: an entry, and a move.
SELECT results_eq(
    format(
        'SELECT * FROM test.totals(0, %s, (SELECT range_agg(int8range(number, number + 1)) FROM (
            SELECT entry_id FROM iap.transactions WHERE transaction_id = ''w0''
            UNION ALL SELECT move_id FROM iap.moves WHERE transaction_id = ''w1'') AS unseen (number)))',
        :left_white),
    $$VALUES (
        test.tally(1022, 'w1', 'w2', 'w3', 'w4', 'w5', 'w6', 'w7', 'w8', 'w9'), test.tally(4, 'w2'),
        test.tally(56, 'w3', 'w4', 'w5'), test.tally(192, 'w6', 'w7'), test.tally(770, 'w1', 'w8', 'w9'))$$,
    'but for what the run did not see');

SELECT * FROM finish();
ROLLBACK;
