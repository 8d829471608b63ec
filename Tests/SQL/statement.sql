-- finance.statement: a month from its opening to its closing, what Apple sold beside it, and by which purchases they
-- differ.
BEGIN;
SELECT no_plan();
SET LOCAL iap.present = '2026-02-27 10:00+00';

CREATE FUNCTION test.present(moment text) RETURNS text
LANGUAGE sql AS $$ SELECT set_config('iap.present', $1, true) $$;
CREATE FUNCTION test.bought(transaction_id text, moment timestamptz) RETURNS text
LANGUAGE sql AS $$
    SELECT test.run_as('iap_app', format(
        'SELECT iap.admit(%L, %L, %L, %L, %L, 1, %L, %L)', 'com.example.a', 'Production', $1, $1, 'gems', $2, 'ann'))
$$;
CREATE FUNCTION test.told(first date, through date) RETURNS SETOF text
LANGUAGE plpgsql AS $$
BEGIN
    SET LOCAL ROLE iap_finance;
    RETURN QUERY
    SELECT concat_ws(
        ' ', opening, '+', entered, '-', delivered, '-', refunded, '-', dropped, '=', closing, closing_amount, 'hand',
        by_support, 'server', redelivered, 'after', refunded_after, refunded_after_amount, 'back', reversed,
        reversed_amount)
    FROM finance.statement(first, through);
    RESET ROLE;
END
$$;
CREATE FUNCTION test.differences(first date, through date) RETURNS SETOF text
LANGUAGE plpgsql AS $$
BEGIN
    SET LOCAL ROLE iap_finance;
    RETURN QUERY
    SELECT concat_ws(' ', differences.difference, day, transaction_id, units)
    FROM finance.statement_differences(first, through) AS differences
    WHERE differences.difference <> 'no sales report read';
    RESET ROLE;
END
$$;

SELECT test.is_refused(
    'iap_finance', $$SELECT finance.statement('2026-03-01', '2026-03-31')$$, '55000', '% is not closed yet',
    'a month that is not over');

SELECT test.bought('1', '2026-02-27 09:00+00'), test.bought('2', '2026-02-27 09:10+00');
SELECT test.close_books('2026-02-28 02:00+00');
SELECT test.present('2026-03-01 03:00+00');
-- The last hour of February in California.
SELECT test.bought('3', '2026-03-01 02:00+00'), test.claim('1');
SELECT test.present('2026-03-20 03:00+00');
SELECT test.bought('4', '2026-03-19 20:00+00'), test.bought('5', '2026-03-19 21:00+00'), test.claim('4');
-- That one by the app's server, as a run told that day and another finds again in April.
INSERT INTO iap.redeliveries (
    transaction_id, bundle_id, environment, user_id, run_id, ordered_at, ordered_by, tries, taken_at, due_at, ended_at,
    ended_as)
VALUES (
    '4', 'com.example.a', 'Production', 'ann', 1, iap.present(), 'iap-reconcile', 1, iap.present(), iap.present(),
    iap.present(), 'redelivered');
CREATE FUNCTION test.settle() RETURNS void
LANGUAGE sql SET search_path = pg_catalog, iap, pg_temp AS $$
    SELECT test.run_as('iap_job', format('SELECT iap.settle_redeliveries(%s, %L)', max(run_id) + 1, iap.present()))
    FROM runs
$$;
SELECT test.settle();
SELECT test.resolve('5', 'delivered'), test.resolve('2', 'refunded');
SELECT test.hear(test.heard(
    '4', exclusion => 'refunded', purchased_at => '2026-03-19 20:00+00', refunded_at => '2026-03-19 23:00+00',
    verified_at => '2026-03-20 04:00+00'));
SELECT test.present('2026-03-25 03:00+00');
SELECT test.bought('6', '2026-03-24 20:00+00'), test.resolve('6', 'dismissed');
SELECT test.close_books('2026-04-01 02:00+00');
-- What turns up in April for March.
SELECT test.present('2026-04-02 03:00+00');
SELECT test.bought('7', '2026-03-30 20:00+00');
SELECT test.close_books('2026-04-03 02:00+00');

SELECT results_eq(
    $$SELECT * FROM test.told('2026-02-01', '2026-02-28')$$,
    ARRAY['0 + 2 - 0 - 0 - 0 = 2 1.980 hand 0 server 0 after 0 0.000 back 0 0.000'], 'February');
SELECT results_eq(
    $$SELECT * FROM test.told('2026-03-01', '2026-03-31')$$,
    ARRAY['2 + 4 - 3 - 1 - 1 = 1 0.990 hand 1 server 1 after 1 0.990 back 0 0.000'],
    'March, from what February closed with');
SELECT results_eq(
    $$SELECT * FROM test.told('2026-03-01', '2026-03-10')$$,
    ARRAY['2 + 1 - 1 - 0 - 0 = 2 1.980 hand 0 server 0 after 0 0.000 back 0 0.000'],
    'as it was known on a day of March');
SELECT is_empty(
    $$SELECT FROM finance.statement('2026-03-01', '2026-03-31')
    WHERE opening + entered - delivered - refunded - dropped <> closing
        OR opening_amount + entered_amount - delivered_amount - refunded_amount - dropped_amount <> closing_amount$$,
    'it adds up');
SELECT set_eq(
    $$SELECT closing_amount FROM finance.statement('2026-03-01', '2026-03-31')$$,
    $$SELECT sum(amount) FROM finance.unclaimed_liability_as_of('2026-03-31')$$, 'to what was owed that day');

-- Beside Apple's report.
INSERT INTO iap.sales_reports (day, developer, bundle_ids, file, lines, refused)
SELECT day, 'Us', '{com.example.a}', 'S_D.txt', 1, 0
FROM unnest(ARRAY['2026-03-19', '2026-03-24']::date[]) AS day;
INSERT INTO iap.sales (
    report_id, app_sku, bundle_id, product_id, type, storefront, price_milliunits, currency, proceeds_milliunits,
    proceeds_currency, units)
SELECT report_id, 'SKU', 'com.example.a', 'gems', 'IA1', 'USA', 990, 'USD', 700, 'USD',
    CASE day WHEN '2026-03-19' THEN 1 ELSE 3 END
FROM iap.sales_reports
UNION ALL
SELECT report_id, 'SKU', 'com.example.a', 'gems', 'IA1', 'DEU', 990, 'EUR', 650, 'EUR', 2
FROM iap.sales_reports
WHERE day = '2026-03-24';
SELECT results_eq(
    $$SELECT days, units_sold, units_seen, difference FROM finance.statement_sales('2026-03-01', '2026-03-31')$$,
    $$VALUES (2::bigint, 6::bigint, 3::bigint, 3::bigint)$$, 'what Apple sold, once for each product');
SELECT results_eq(
    $$SELECT days, units_sold, units_seen, difference FROM finance.statement_sales('2026-03-20', '2026-03-24')$$,
    $$VALUES (1::bigint, 5::bigint, 1::bigint, 4::bigint)$$, 'on these days alone');
SELECT results_eq(
    $$SELECT product_id, currency, units, proceeds FROM finance.statement_proceeds('2026-03-20', '2026-03-31')$$,
    $$VALUES ('gems', 'EUR', 2::bigint, 1.300), ('gems', 'USD', 3::bigint, 2.100)$$, 'and what is paid for them');
SELECT results_eq(
    $$SELECT product_id, currency, units, proceeds FROM finance.statement_proceeds('2026-03-01', '2026-03-31')$$,
    $$VALUES ('gems', 'EUR', 2::bigint, 1.300), ('gems', 'USD', 4::bigint, 2.800)$$, 'and pays, for each currency');
SELECT set_eq(
    $$SELECT * FROM test.differences('2026-03-01', '2026-03-31')$$,
    ARRAY[
        'bought in another month 2026-02-28 3 1', 'booked in another month 2026-03-30 7 1',
        'seen, and more than sold 2026-03-19 4 1', 'seen, and more than sold 2026-03-19 5 1',
        'sold and never seen 2026-03-24 4'],
    'and by which purchases they differ');
SELECT results_eq(
    $$SELECT count(*), min(day), max(day) FILTER (WHERE day < '2026-03-25')
    FROM finance.statement_differences('2026-03-01', '2026-03-31') WHERE difference = 'no sales report read'$$,
    $$VALUES (29::bigint, '2026-03-01'::date, '2026-03-23'::date)$$, 'the days without a report are named');
INSERT INTO iap.sales_reports (day, developer, bundle_ids, file, lines, refused)
VALUES ('2026-03-25', 'Us', '{}', 'S_D.txt', 0, 0);
SELECT results_eq(
    $$SELECT days FROM finance.statement_sales('2026-03-01', '2026-03-31')$$, ARRAY[3::bigint],
    'one on which nothing was sold is read, too');

-- A refund that Apple takes back.
SELECT test.present('2026-04-10 03:00+00');
SELECT test.hear(test.heard('4', purchased_at => '2026-03-19 20:00+00', verified_at => '2026-04-10 03:00+00'));
SELECT test.close_books('2026-04-11 02:00+00');
SELECT results_eq(
    $$SELECT refunded_after, reversed, reversed_amount FROM finance.statement('2026-04-01', '2026-04-10')$$,
    $$VALUES (0::bigint, 1::bigint, 0.990)$$, 'is a line of its own');

-- A correction is neither a refund nor a reversal, and a refund and a reversal of one run don't make up for each other.
SELECT test.present('2026-04-12 03:00+00');
SELECT test.bought('8', '2026-04-12 01:00+00'), test.bought('9', '2026-04-12 01:00+00'), test.claim('8'),
    test.claim('9');
CREATE FUNCTION test.refunded(transaction_id text, moment timestamptz) RETURNS text
LANGUAGE sql AS $$
    SELECT test.hear(test.heard(
        $1, exclusion => 'refunded', purchased_at => '2026-04-12 01:00+00', refunded_at => '2026-04-12 08:00+00',
        verified_at => $2))
$$;
SELECT test.refunded('8', '2026-04-12 10:00+00');
SELECT test.close_books('2026-04-13 02:00+00');
SELECT test.present('2026-04-14 03:00+00');
SELECT test.hear(test.heard('8', purchased_at => '2026-04-12 01:00+00', verified_at => '2026-04-14 01:00+00'));
SELECT test.refunded('9', '2026-04-14 01:00+00');
SELECT test.close_books('2026-04-15 02:00+00');
SELECT results_eq(
    $$SELECT refunded_after, refunded_after_amount, reversed, reversed_amount
    FROM finance.statement('2026-04-14', '2026-04-14')$$,
    $$VALUES (1::bigint, 0.990, 1::bigint, 0.990)$$, 'one is refunded, and one taken back');
SELECT test.present('2026-04-16 03:00+00');
SELECT test.hear(test.heard('9', 'server_api', exclusion => 'refunded', purchased_at => '2026-04-12 01:00+00',
    refunded_at => '2026-04-12 08:00+00', verified_at => '2026-04-16 01:00+00', price_milliunits => 990));
SELECT test.close_books('2026-04-17 02:00+00');
SELECT results_eq(
    $$SELECT refunded_after, refunded_after_amount, reversed, reversed_amount
    FROM finance.statement('2026-04-16', '2026-04-16')$$,
    $$VALUES (0::bigint, 0.000, 0::bigint, 0.000)$$, 'what was paid is told, and nothing refunded');
SELECT is(
    (SELECT sum(refunded_after) - sum(reversed) FROM finance.statement('2026-02-01', '2026-04-16')),
    (SELECT count(*)::numeric FROM finance.refunds_after_delivery), 'together they are what is refunded');

-- A refund in part before the delivery: what did not go back is not owed any more.
SELECT test.present('2026-04-17 03:00+00');
SELECT test.hear(test.heard('10', 'server_api', 'full', purchased_at => '2026-04-17 01:00+00',
    verified_at => '2026-04-17 02:00+00', price_milliunits => 10000));
SELECT test.close_books('2026-04-18 02:00+00');
SELECT test.present('2026-04-18 03:00+00');
SELECT test.hear(test.heard(id, 'server_api', 'full', exclusion => 'refunded', purchased_at => '2026-04-17 01:00+00',
    verified_at => '2026-04-18 02:00+00', price_milliunits => 10000, refunded_at => '2026-04-18 01:00+00',
    revocation_type => 'REFUND_PRORATED', revocation_percentage => 30000))
FROM unnest(ARRAY['10', '11']) AS id;
SELECT is_empty('SELECT * FROM finance.unexplained', 'the journal explains it');
SELECT test.close_books('2026-04-19 02:00+00');
SELECT is_empty('SELECT * FROM finance.unexplained', 'once it is closed, too');
SELECT results_eq(
    $$SELECT
        opening_amount, entered, entered_amount, refunded, refunded_amount, dropped, dropped_amount, closing,
        closing_amount
    FROM finance.statement('2026-04-18', '2026-04-18') WHERE product_id = 'full'$$,
    $$VALUES (10.000, 1::bigint, 10.000, 2::bigint, 6.000, 0::bigint, 14.000, 0::bigint, 0.000)$$,
    'it enters with all that was paid');
SELECT results_eq(
    $$SELECT refunded, transactions, amount FROM finance.refunds_as_of('2026-04-18') WHERE product_id = 'full'$$,
    $$VALUES ('before delivery', 2::bigint, 6.000)$$, 'and its refund is the share');
SELECT test.present('2026-04-19 03:00+00');
SELECT test.hear(test.heard('10', 'server_api', 'full', purchased_at => '2026-04-17 01:00+00',
    verified_at => '2026-04-19 02:00+00', price_milliunits => 10000));
SELECT test.close_books('2026-04-20 02:00+00');
SELECT results_eq(
    $$SELECT entered_amount, refunded, refunded_amount, dropped_amount, closing, closing_amount
    FROM finance.statement('2026-04-19', '2026-04-19') WHERE product_id = 'full'$$,
    $$VALUES (0.000, -1::bigint, -3.000, -7.000, 1::bigint, 10.000)$$, 'taken back, all of it is owed again');

-- What Apple did not sell stands on neither side.
INSERT INTO iap.sales_reports (day, developer, bundle_ids, file, lines, refused)
VALUES ('2026-04-20', 'Us', '{com.example.a}', 'S_D.txt', 0, 0);
SELECT test.present('2026-04-21 03:00+00');
SELECT test.hear(test.heard(id, 'server_api', 'full', purchased_at => '2026-04-20 20:00+00', storefront => 'USA',
    exclusion => CASE id WHEN 'FAM' THEN 'family_shared' END,
    original_transaction_id => CASE id WHEN 'R2' THEN 'R1' END))
FROM unnest(ARRAY['B1', 'FAM', 'R2']) AS id;
SELECT results_eq(
    $$SELECT units_seen FROM finance.sold_against_seen WHERE day = '2026-04-20'$$, ARRAY[1::bigint], 'one was sold');
SELECT set_eq(
    $$SELECT * FROM test.differences('2026-04-20', '2026-04-20')$$,
    ARRAY['booked in another month 2026-04-20 B1 1', 'seen, and more than sold 2026-04-20 B1 1'], 'and one is named');

-- What has no price is not worth nothing.
SELECT test.present('2026-04-21 04:00+00');
SELECT test.hear(test.heard('U1', product_id => 'unheard.of', purchased_at => '2026-04-21 01:00+00')),
    test.hear(test.heard('U2', product_id => 'unheard.of', purchased_at => '2026-04-21 01:00+00', is_trial => true));
SELECT test.close_books('2026-04-22 02:00+00');
SELECT results_eq(
    $$SELECT entered, entered_amount, closing, closing_amount FROM finance.statement('2026-04-21', '2026-04-21')
    WHERE product_id = 'unheard.of'$$,
    $$VALUES (2::bigint, NULL::numeric, 2::bigint, NULL::numeric)$$,
    'no price is known, and none is made up, also beside a free trial');
SELECT results_eq(
    $$SELECT owed, owed_amount FROM finance.balances_as_of('2026-04-21') WHERE currency IS NULL$$,
    $$VALUES (2::bigint, NULL::numeric)$$, 'in the balances neither');

-- Where clocks are put forward at midnight, a day has none.
SET LOCAL timezone = 'Africa/Cairo';
SELECT results_eq(
    $$SELECT count(*), max(day) FROM finance.statement_differences('2027-04-01', '2027-04-30')
    WHERE difference = 'no sales report read'$$, $$VALUES (30::bigint, '2027-04-30'::date)$$, 'no day is left out');
SET LOCAL timezone = 'UTC';

-- What is committed after the run that closed its day is booked on a later one.
SELECT test.present('2026-04-22 23:59:30+00');
SELECT test.bought('L1', '2026-04-22 23:50+00'), test.bought('L2', '2026-04-22 23:51+00');
CREATE TEMPORARY TABLE late AS SELECT * FROM iap.transactions WHERE transaction_id = 'L1';
DELETE FROM iap.transactions WHERE transaction_id = 'L1';
SELECT test.close_books('2026-04-23 02:00+00');
INSERT INTO iap.transactions SELECT * FROM late;
SELECT results_eq(
    $$SELECT transaction_id, booked_on FROM finance.purchases WHERE transaction_id IN ('L1', 'L2') ORDER BY 1$$,
    $$VALUES ('L1' COLLATE "C", '2026-04-23'::date), ('L2', '2026-04-22')$$, 'as it will be');
SELECT test.present('2026-04-23 03:00+00');
SELECT test.bought('L3', '2026-04-23 02:50+00');
SELECT test.close_books('2026-04-24 02:00+00');
SELECT results_eq(
    $$SELECT booked_on, sum(transactions) FROM finance.journal
    WHERE booked_on > '2026-04-21' AND product_id = 'gems' GROUP BY 1 ORDER BY 1$$,
    $$SELECT booked_on, count(*)::numeric FROM finance.purchases
    WHERE booked_on > '2026-04-21' AND product_id = 'gems' GROUP BY 1 ORDER BY 1$$, 'as the journal has it');
SELECT set_eq(
    $$SELECT * FROM test.differences('2026-04-22', '2026-04-22')$$,
    ARRAY['booked in another month 2026-04-22 L1 1', 'booked in another month 2026-04-22 L3 1'],
    'the month of the purchase names it');
SELECT set_eq(
    $$SELECT transaction_id, booked_on FROM finance.statement_differences('2026-04-22', '2026-04-22')
    WHERE difference = 'booked in another month'$$,
    $$VALUES ('L1' COLLATE "default", '2026-04-23'::date), ('L3', '2026-04-23')$$, 'and says when it was booked');
SELECT set_eq(
    $$SELECT * FROM test.differences('2026-04-23', '2026-04-23')$$,
    ARRAY['bought in another month 2026-04-22 L1 1', 'bought in another month 2026-04-22 L3 1'],
    'and the month of its entry');

-- What was redelivered in a month stays so, whatever is known later, and though it is ordered again.
SELECT test.present('2026-04-24 03:00+00');
SELECT test.hear(test.heard('G1', 'verify_receipt', 'full', purchased_at => '2026-04-24 01:00+00',
    verified_at => '2026-04-24 02:00+00')), test.claim('G1');
INSERT INTO iap.redeliveries (
    transaction_id, bundle_id, environment, user_id, run_id, ordered_at, ordered_by, tries, taken_at, due_at)
VALUES (
    'G1', 'com.example.a', 'Production', 'ann', 1, iap.present(), 'iap-reconcile', 1, iap.present(), iap.present());
SELECT test.settle();
SELECT test.close_books('2026-04-25 02:00+00');
CREATE FUNCTION test.redelivered(day date) RETURNS SETOF text
LANGUAGE sql AS $$
    SELECT concat_ws(' ', product_id, currency, delivered, redelivered) FROM finance.statement(day, day)
    WHERE product_id = 'full'
$$;
SELECT results_eq($$SELECT test.redelivered('2026-04-24')$$, ARRAY['full USD 1 1'], 'the app''s server delivered one');
SELECT test.present('2026-04-25 03:00+00');
SELECT test.hear(test.heard('G1', 'server_api', 'full', purchased_at => '2026-04-24 01:00+00',
    verified_at => '2026-04-25 02:00+00', price_milliunits => 5490, currency => 'EUR'));
UPDATE iap.redeliveries
SET tries = 0, taken_at = NULL, ended_at = NULL, ended_as = NULL, told_run_id = NULL
WHERE transaction_id = 'G1';
SELECT test.close_books('2026-04-26 02:00+00');
SELECT results_eq($$SELECT test.redelivered('2026-04-24')$$, ARRAY['full USD 1 1'], 'and did so for ever');
SELECT set_eq(
    $$SELECT test.redelivered('2026-04-25')$$, ARRAY['full EUR 1 0', 'full USD -1 0'], 'and not another day, too');

-- A tester's is none.
SELECT test.admit('S1', environment => 'Sandbox'), test.claim('S1');
INSERT INTO iap.redeliveries (
    transaction_id, bundle_id, environment, user_id, run_id, ordered_at, ordered_by, tries, taken_at, due_at)
VALUES (
    'S1', 'com.example.a', 'Sandbox', 'ann', 1, iap.present(), 'iap-reconcile', 1, iap.present(), iap.present());
SELECT test.settle();
SELECT results_eq(
    $$SELECT details ->> 'move_id' IS NOT NULL FROM iap.events
    WHERE transaction_id = 'S1' AND kind = 'redelivered'$$, ARRAY[true], 'the app''s server delivered to a tester');
SELECT is_empty($$SELECT FROM finance.redeliveries WHERE transaction_id = 'S1'$$, 'of which finance is not told');

-- The night that tells of it may know its price better by then: it counts as it was delivered.
SELECT test.present('2026-04-27 03:00+00');
SELECT test.hear(test.heard('H1', 'verify_receipt', 'full', purchased_at => '2026-04-27 01:00+00',
    verified_at => '2026-04-27 02:00+00')), test.claim('H1');
INSERT INTO iap.redeliveries (
    transaction_id, bundle_id, environment, user_id, run_id, ordered_at, ordered_by, tries, taken_at, due_at)
VALUES (
    'H1', 'com.example.a', 'Production', 'ann', 1, iap.present(), 'iap-reconcile', 1, iap.present(), iap.present());
SELECT test.present('2026-04-28 01:00+00');
SELECT test.hear(test.heard('H1', 'server_api', 'full', purchased_at => '2026-04-27 01:00+00',
    verified_at => '2026-04-28 01:00+00', price_milliunits => 5490, currency => 'EUR'));
SELECT test.settle();
SELECT test.close_books('2026-04-28 02:00+00'), test.close_books('2026-04-29 02:00+00');
SELECT results_eq(
    $$SELECT test.redelivered('2026-04-27')$$, ARRAY['full USD 1 1'], 'what is corrected meanwhile is not lost');
SELECT set_eq($$SELECT test.redelivered('2026-04-28')$$, ARRAY['full EUR 1 0', 'full USD -1 0'], 'and is told once');

SELECT set_eq(
    $$SELECT concat_ws(' ', currency, delivered, redelivered) FROM finance.statement('2026-04-24', '2026-04-28')
    WHERE product_id = 'full'$$,
    ARRAY['EUR 2 0', 'USD 0 2'], 'in its own currency alone');

-- A night that could not look for it tells of it later, in a month in which nothing else is booked of its product.
SELECT test.present('2026-04-29 03:00+00');
SELECT test.hear(test.heard('J1', 'verify_receipt', 'alone', purchased_at => '2026-04-29 01:00+00',
    verified_at => '2026-04-29 02:00+00')), test.claim('J1');
SELECT test.hear(test.heard('J2', 'verify_receipt', 'beside', purchased_at => '2026-04-29 01:00+00',
    verified_at => '2026-04-29 02:00+00')), test.claim('J2');
INSERT INTO iap.redeliveries (
    transaction_id, bundle_id, environment, user_id, run_id, ordered_at, ordered_by, tries, taken_at, due_at)
VALUES (
    'J1', 'com.example.a', 'Production', 'ann', 1, iap.present(), 'iap-reconcile', 1, iap.present(), iap.present());
SELECT test.close_books('2026-05-01 02:00+00'), test.present('2026-05-01 03:00+00'), test.settle();
SELECT test.close_books('2026-05-03 02:00+00');
SELECT results_eq(
    $$SELECT day::date, redelivered FROM generate_series('2026-04-28'::date, '2026-05-02', '1 day') AS day
        CROSS JOIN LATERAL finance.statement(day::date, day::date) WHERE product_id = 'alone'$$,
    $$VALUES ('2026-04-29'::date, 0::bigint), ('2026-05-01', 1)$$, 'what is told late is told');

SELECT is_empty(
    $$SELECT product_id, currency FROM finance.statement('2026-05-01', '2026-05-01')
    WHERE (opening, entered, delivered, redelivered, refunded, dropped, closing) = (0, 0, 0, 0, 0, 0, 0)$$,
    'and brings no other product with it');

-- What was redelivered is looked for once, and not again for each product.
CREATE FUNCTION test.scans_of_moves() RETURNS bigint
LANGUAGE sql AS $$
    SELECT pg_stat_get_xact_numscans('iap.moves'::regclass)
        + (SELECT sum(pg_stat_get_xact_numscans(indexrelid)) FROM pg_index WHERE indrelid = 'iap.moves'::regclass)
$$;
SET LOCAL enable_nestloop = off;
CREATE TEMPORARY TABLE scans AS SELECT test.scans_of_moves() AS before;
SELECT cmp_ok(count(*), '>', 2::bigint, 'of several products') FROM finance.statement('2026-03-01', '2026-04-28');
SELECT is(test.scans_of_moves() - before, 1::bigint, 'the moves are read once') FROM scans;

-- Where a price is known, nothing is an amount, too.
SELECT is_empty(
    $$SELECT told FROM generate_series(0, 64) AS days
    CROSS JOIN LATERAL finance.statement('2026-02-27'::date + days, '2026-02-27'::date + days) AS told
    WHERE told.currency IS NOT NULL AND told IS NOT NULL IS NOT TRUE$$, 'every column says so');

-- A span is all of its days.
SELECT set_eq(
    $$SELECT concat_ws(
        ' ', product_id, currency, sum(entered), sum(entered_amount), sum(delivered), sum(delivered_amount),
        sum(by_support),
        sum(redelivered), sum(refunded), sum(refunded_amount), sum(dropped), sum(dropped_amount), sum(refunded_after),
        sum(refunded_after_amount), sum(reversed), sum(reversed_amount))
    FROM generate_series(0, 56) AS days
    CROSS JOIN LATERAL finance.statement('2026-02-27'::date + days, '2026-02-27'::date + days)
    GROUP BY product_id, currency$$,
    $$SELECT concat_ws(
        ' ', product_id, currency, entered, entered_amount, delivered, delivered_amount, by_support, redelivered,
        refunded,
        refunded_amount, dropped, dropped_amount, refunded_after, refunded_after_amount, reversed, reversed_amount)
    FROM finance.statement('2026-02-27', '2026-04-24')$$, 'what moved in it');
SELECT set_eq(
    $$SELECT concat_ws(
        ' ', product_id, currency, opening + entered - delivered - refunded - dropped,
        opening_amount + entered_amount - delivered_amount - refunded_amount - dropped_amount)
    FROM finance.statement('2026-03-15', '2026-04-24')
    WHERE closing <> 0 OR closing_amount <> 0$$,
    $$SELECT concat_ws(' ', product_id, currency, closing, closing_amount)
    FROM finance.statement('2026-04-24', '2026-04-24')
    WHERE closing <> 0 OR closing_amount <> 0$$, 'from where it began to where its last day ends');

-- What was written while a clock was years wrong is named by the month that has booked it, whichever that is.
SELECT test.present('2028-05-04 03:00+00');
SELECT test.bought('K1', '2026-03-04 01:00+00');
SELECT test.present('2019-05-04 04:00+00');
SELECT test.bought('K2', '2019-05-04 01:00+00');
SELECT set_eq(
    $$SELECT * FROM test.differences('2026-05-03', '2026-05-31')$$,
    ARRAY['bought in another month 2019-05-03 K2 1'], 'before its books are closed');
SELECT test.close_books('2026-05-05 02:00+00');
SELECT set_eq(
    $$SELECT * FROM test.differences('2026-05-03', '2026-05-31')$$,
    ARRAY['bought in another month 2019-05-03 K2 1', 'bought in another month 2026-03-03 K1 1'], 'and afterwards');
SELECT test.present('2026-05-06 03:00+00');
SELECT test.bought('K3', '2026-05-06 01:00+00');
SELECT test.close_books('2031-01-02 02:00+00');
SELECT test.present('2026-05-07 03:00+00');
SELECT test.bought('K4', '2026-05-07 01:00+00');
SELECT test.close_books('2031-01-08 02:00+00');
SELECT set_eq(
    $$SELECT * FROM test.differences('2031-01-01', '2031-01-31')$$,
    ARRAY['bought in another month 2026-05-06 K4 1'], 'also where the run''s own clock was');

-- A redelivery whose transaction began before the turn of a month takes what was opened again after it.
SELECT test.present('2031-03-31 20:00+00');
SELECT test.bought('M1', '2031-03-31 19:00+00'), test.resolve('M1', 'dismissed');
SELECT test.present('2031-04-01 00:10+00');
SELECT is(test.reopen('M1'), 'reopened', 'opened again in the new month');
SELECT test.present('2031-03-31 23:55+00');
SELECT is(test.claim('M1'), 'delivered', 'and delivered by a transaction of the old one');
INSERT INTO iap.redeliveries (
    transaction_id, bundle_id, environment, user_id, run_id, ordered_at, ordered_by, tries, taken_at, due_at, ended_at,
    ended_as)
VALUES (
    'M1', 'com.example.a', 'Production', 'ann', 1, iap.present(), 'iap-reconcile', 1, iap.present(), iap.present(),
    iap.present(), 'redelivered');
SELECT test.present('2031-04-01 02:00+00');
SELECT test.settle();
SELECT test.close_books('2031-04-01 02:00+00'), test.close_books('2031-05-01 02:00+00');
SELECT results_eq(
    $$SELECT month, sum(delivered)::bigint, sum(redelivered)::bigint
    FROM unnest(ARRAY['2031-03-01', '2031-04-01']::date[]) AS month
    CROSS JOIN LATERAL finance.statement(month, (month + interval '1 month')::date - 1)
    GROUP BY month ORDER BY month$$,
    $$VALUES ('2031-03-01'::date, 0::bigint, 0::bigint), ('2031-04-01', 1, 1)$$,
    'is redelivered in the month that has its delivery');

-- Another app delivers a product of the same name by itself.
SELECT test.present('2031-05-02 03:00+00');
SELECT test.admit('N1', product_id => 'twin'), test.admit('N2', product_id => 'twin', bundle_id => 'com.example.b'),
    test.claim('N1'), test.run_as('iap_app', $$SELECT iap.claim('com.example.b', 'N2', 'ann')$$);
INSERT INTO iap.redeliveries (
    transaction_id, bundle_id, environment, user_id, run_id, ordered_at, ordered_by, tries, taken_at, due_at)
VALUES (
    'N1', 'com.example.a', 'Production', 'ann', 1, iap.present(), 'iap-reconcile', 1, iap.present(), iap.present());
SELECT test.settle(), test.close_books('2031-05-03 02:00+00');
SELECT results_eq(
    $$SELECT bundle_id, delivered, redelivered FROM finance.statement('2031-05-02', '2031-05-02')
    WHERE product_id = 'twin'$$,
    $$VALUES ('com.example.a', 1::bigint, 1::bigint), ('com.example.b', 1, 0)$$,
    'each app has its own redeliveries');

-- What Apple did not sell is bought in no month.
SELECT test.present('2031-05-03 03:00+00');
SELECT test.hear(test.heard(
    'N3', product_id => 'twin', exclusion => 'family_shared', purchased_at => '2031-04-20 01:00+00',
    verified_at => '2031-05-03 02:00+00'));
SELECT test.close_books('2031-05-04 02:00+00');
SELECT is_empty(
    $$SELECT FROM finance.statement_differences('2031-05-01', '2031-05-31') WHERE transaction_id = 'N3'$$,
    'a share in a family is no purchase of another month');

SELECT * FROM finish();
ROLLBACK;
