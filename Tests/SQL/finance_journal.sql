-- The journal of schema finance: what it says of a closed day is the same for ever.
BEGIN;
SELECT no_plan();
SET LOCAL iap.present = '2026-03-01 10:00+00';

-- The journal explains the ledger at all times.
CREATE FUNCTION test.is_explained(description text) RETURNS text
LANGUAGE sql AS $$
    SELECT is_empty($q$SELECT test.finance('SELECT account FROM finance.unexplained')$q$, description)
$$;
CREATE FUNCTION test.present(moment text) RETURNS text
LANGUAGE sql AS $$ SELECT set_config('iap.present', $1, true) $$;
-- Bought at that moment, and admitted at the present one.
CREATE FUNCTION test.bought(transaction_id text, moment timestamptz, quantity integer DEFAULT 1) RETURNS text
LANGUAGE sql AS $$
    SELECT test.run_as('iap_app', format(
        'SELECT iap.admit(%L, %L, %L, %L, %L, %L, %L, %L)', 'com.example.a', 'Production', $1, $1, 'gems', $3, $2,
        'ann'))
$$;
CREATE FUNCTION test.finance(query text) RETURNS SETOF text
LANGUAGE plpgsql AS $$
BEGIN
    SET LOCAL ROLE iap_finance;
    RETURN QUERY EXECUTE query;
    RESET ROLE;
END
$$;
-- What finance is told of a day.
CREATE FUNCTION test.told(day date) RETURNS SETOF text
LANGUAGE sql AS $$
    SELECT test.finance(format(
        $f$
        SELECT 'owed ' || purchase_day || ' ' || age_days || ' in ' || ageing || ' ' || units || ' ' || amount
        FROM finance.unclaimed_liability_as_of(%1$L)
        UNION ALL
        SELECT 'delivered ' || delivery_day || ' ' || delivered_by || ' ' || units || ' ' || amount
        FROM finance.deliveries_as_of(%1$L)
        UNION ALL
        SELECT 'refunded ' || refund_day || ' ' || refunded || ' ' || units || ' ' || amount
        FROM finance.refunds_as_of(%1$L)
        UNION ALL
        SELECT 'received ' || received || ' = ' || owed || ' + ' || delivered || ' + ' || excluded
        FROM finance.balances_as_of(%1$L)
        $f$, day))
$$;
CREATE FUNCTION test.is_not_closed(day date) RETURNS SETOF text
LANGUAGE sql AS $$
    SELECT test.is_refused(
        'iap_finance', format('SELECT count(*) FROM finance.%I(%L)', proname, day), '55000', '% is not closed yet',
        format('%s of %s', proname, day))
    FROM pg_proc WHERE pronamespace = 'finance'::regnamespace AND proname LIKE '%\_as\_of'
$$;

-- What the error advises.
CREATE FUNCTION test.hint(day date) RETURNS text
LANGUAGE plpgsql AS $$
DECLARE
    hint text;
BEGIN
    PERFORM finance.closed(day);
    RETURN NULL;
EXCEPTION
    WHEN object_not_in_prerequisite_state THEN
        GET STACKED DIAGNOSTICS hint = PG_EXCEPTION_HINT;
        RETURN hint;
END
$$;

SELECT test.is_not_closed('2026-02-28');
SELECT is(test.hint('2026-02-28'), 'No run has closed its books yet.', 'and why');
SELECT test.is_refused(
    'iap_finance', 'SELECT finance.closed(NULL)', '22023', 'as of which day%', 'a day must be named');

-- Two purchases of one day; one is delivered on the same day, and one on the next.
SELECT test.bought('1', '2026-03-01 09:00+00', 2), test.bought('2', '2026-02-27 09:00+00'),
    test.bought('3', '2026-03-01 09:30+00');
SELECT test.claim('3');
SELECT test.admit('4', environment => 'Sandbox');
SELECT test.is_explained('before the first closing');
SELECT test.close_books('2026-03-01 20:00+00');
SELECT test.is_explained('after it');
SELECT test.is_not_closed('2026-03-01');
SELECT is(
    test.hint('2026-03-01'),
    'The last day that is closed is 2026-02-28; a day is closed by the first run after it.', 'which day is');
SELECT is_empty($$SELECT * FROM test.told('2026-02-28')$$, 'the day before all knows nothing');
SELECT test.present('2026-03-02 01:00+00');
SELECT test.claim('1');
SELECT test.is_explained('between two');
SELECT test.close_books('2026-03-02 20:00+00');
CREATE FUNCTION test.first_of_march() RETURNS SETOF text
LANGUAGE sql AS $$
    VALUES
        ('owed 2026-02-27 2 in 2-7 1 0.990'), ('owed 2026-03-01 0 in 0-1 2 1.980'),
        ('delivered 2026-03-01 claim 1 0.990'), ('received 3 = 2 + 1 + 0')
$$;
SELECT set_eq($$SELECT test.told('2026-03-01')$$, 'SELECT test.first_of_march()', 'the first of March');

-- Whatever happens afterwards.
SELECT test.present('2026-03-03 01:00+00');
SELECT test.resolve('2', 'refunded');
SELECT test.hear(test.heard('3', exclusion => 'refunded', purchased_at => '2026-03-01 09:30+00',
    refunded_at => '2026-03-01 23:00+00', verified_at => '2026-03-03 01:00+00'));
UPDATE iap.products SET list_price_milliunits = 5000 WHERE product_id = 'gems';
SELECT test.bought('5', '2026-02-01 09:00+00');
SELECT test.hear(test.heard('5', purchased_at => '2026-02-01 09:00+00', price_milliunits => 7000, currency => 'CNY',
    verified_at => '2026-03-03 01:00+00'));
SELECT test.is_explained('after refunds and a price');
SELECT test.close_books('2026-03-04 20:00+00');
SELECT test.is_explained('and closed');
SELECT set_eq($$SELECT test.told('2026-03-01')$$, 'SELECT test.first_of_march()', 'the first of March, days later');
SELECT set_eq(
    $$SELECT test.told('2026-03-02')$$,
    $$VALUES
        ('owed 2026-02-27 3 in 2-7 1 0.990'), ('delivered 2026-03-01 claim 1 0.990'),
        ('delivered 2026-03-02 claim 2 1.980'),
        ('received 3 = 1 + 2 + 0')$$, 'the second');
SELECT set_eq(
    $$SELECT test.told('2026-03-03')$$,
    $$VALUES
        ('owed 2026-02-01 30 in 8-30 1 7.000'), ('delivered 2026-03-01 claim 1 0.990'),
        ('delivered 2026-03-02 claim 2 1.980'), ('refunded 2026-03-01 after delivery 1 0.990'),
        ('refunded 2026-03-03 before delivery 1 0.990'), ('received 3 = 0 + 2 + 1'), ('received 1 = 1 + 0 + 0')$$,
    'the third, by currency, at the prices of their time');
SELECT results_eq(
    $$SELECT refund_day, transaction_id, units, amount, is_by_support FROM finance.refunds_before_delivery$$,
    $$VALUES ('2026-03-03'::date, '2' COLLATE "C", 1, 0.990, true)$$, 'what was refunded before its delivery');
SELECT results_eq(
    $$SELECT refund_day, refunded, transactions, amount FROM finance.refunds ORDER BY 1$$,
    $$VALUES
        ('2026-03-01'::date, 'after delivery', 1::bigint, 0.990),
        ('2026-03-03', 'before delivery', 1, 0.990)$$, 'both sorts of refunds by day');

-- What turns up for a closed day is booked on the first that is open; a resolve that is taken back is booked twice.
SELECT test.present('2026-03-02 12:00+00');
SELECT test.bought('6', '2026-03-01 12:00+00'), test.resolve('6', 'delivered'), test.reopen('6');
SELECT results_eq(
    $$SELECT at, account, sum(transactions) FROM iap.journal_lines, audit.frontier
    WHERE iap.is_beyond(number, upto, gaps) GROUP BY 1, 2 ORDER BY 2$$,
    $$VALUES ('2026-03-02 12:00+00'::timestamptz, 'delivered', 0::bigint), ('2026-03-02 12:00+00', 'owed', 1)$$,
    'to be booked');
SELECT test.is_explained('which is explained');
SELECT test.close_books('2026-03-05 20:00+00');
SELECT set_eq($$SELECT test.told('2026-03-01')$$, 'SELECT test.first_of_march()', 'the first of March still');
SELECT results_eq(
    $$SELECT booked_on, account, day, units, amount FROM finance.journal
    WHERE run_id = (SELECT max(run_id) FROM iap.runs)$$,
    $$VALUES ('2026-03-04'::date, 'owed', '2026-03-01'::date, 1::bigint, 5.000)$$, 'booked later, once, not by nought');
SELECT is_empty(
    $$SELECT FROM iap.journal_lines, audit.frontier WHERE iap.is_beyond(number, upto, gaps)$$, 'nothing is left open');
SELECT results_eq(
    'SELECT closed_through FROM finance.closings ORDER BY run_id',
    $$VALUES ('2026-02-28'::date), ('2026-03-01'), ('2026-03-03'), ('2026-03-04')$$, 'what is closed');
SELECT test.close_books('2026-03-03 20:00+00');
SELECT is(
    (SELECT closed_through FROM finance.closings ORDER BY run_id DESC LIMIT 1), '2026-03-04',
    'a replay opens nothing again');

-- Apple corrects what the app's server said: what was booked is taken back, and booked as it is.
SELECT test.present('2026-03-05 01:00+00');
INSERT INTO iap.products (bundle_id, product_id, type, name, list_price_milliunits, currency)
VALUES ('com.example.a', 'gold', 'consumable', 'Gold', 4990, 'USD');
CREATE FUNCTION test.lines_of(run bigint) RETURNS SETOF text
LANGUAGE sql AS $$
    SELECT concat_ws(
        ' ', booked_on, account, day, product_id, currency, price_source, detail, transactions, units, amount)
    FROM finance.journal
    WHERE run_id = run
$$;
SELECT test.bought('31', '2026-03-05 00:10+00', 2), test.bought('32', '2026-03-05 00:20+00', 2), test.claim('32');
SELECT set_eq(
    $$SELECT test.lines_of(test.close_books('2026-03-05 20:00+00'))$$,
    $$VALUES
        ('2026-03-05 owed 2026-03-05 gems USD list 1 2 10.000'),
        ('2026-03-05 delivered 2026-03-05 gems USD list claim 1 2 10.000')$$, 'what the app''s server said');
SELECT test.present('2026-03-06 01:00+00');
SELECT test.hear(test.heard(id, 'server_api', 'gold', 3, purchased_at => '2026-03-04 23:50+00',
    verified_at => '2026-03-06 01:00+00'))
FROM unnest(ARRAY['31', '32']) AS id;
SELECT test.is_explained('corrections are explained');
SELECT set_eq(
    $$SELECT test.lines_of(test.close_books('2026-03-06 20:00+00'))$$,
    $$VALUES
        ('2026-03-06 owed 2026-03-05 gems USD list -1 -2 -10.000'),
        ('2026-03-06 owed 2026-03-04 gold USD list 1 3 14.970'),
        ('2026-03-06 delivered 2026-03-05 gems USD list claim -1 -2 -10.000'),
        ('2026-03-06 delivered 2026-03-05 gold USD list claim 1 3 14.970')$$, 'corrections, from and to');
SELECT test.present('2026-03-07 01:00+00');
SELECT test.hear(test.heard('32', 'server_api', 'gold', 3, purchased_at => '2026-03-04 23:50+00',
    price_milliunits => 12000, verified_at => '2026-03-07 01:00+00'));
SELECT test.hear(test.heard('32', 'server_api', 'gold', 3, purchased_at => '2026-03-04 23:50+00',
    exclusion => 'refunded', refunded_at => '2026-03-07 00:30+00', verified_at => '2026-03-07 02:00+00'));
SELECT set_eq(
    $$SELECT test.lines_of(test.close_books('2026-03-07 20:00+00'))$$,
    $$VALUES
        ('2026-03-07 delivered 2026-03-05 gold USD list claim -1 -3 -14.970'),
        ('2026-03-07 delivered 2026-03-05 gold USD apple claim 1 3 12.000'),
        ('2026-03-07 refunded 2026-03-07 gold USD apple 1 3 12.000')$$, 'what was paid, and refunded');
SELECT test.present('2026-03-08 01:00+00');
SELECT test.hear(test.heard('32', 'server_api', 'gold', 3, purchased_at => '2026-03-04 23:50+00',
    verified_at => '2026-03-08 01:00+00'));
SELECT test.is_explained('a refund that is taken back');
SELECT set_eq(
    $$SELECT test.lines_of(test.close_books('2026-03-08 20:00+00'))$$,
    $$VALUES ('2026-03-08 refunded 2026-03-07 gold USD apple reversed -1 -3 -12.000')$$, 'is booked the other way');
SELECT test.is_explained('and explained');
SELECT set_eq($$SELECT test.told('2026-03-01')$$, 'SELECT test.first_of_march()', 'the first of March even so');
SELECT is_empty('SELECT audit.broken_links()', 'the chain holds');

-- Of a refund that is booked, Apple tells later that it was one in part.
SELECT test.present('2026-03-10 10:00+00');
SELECT test.bought('41', '2026-03-10 09:00+00', 2), test.bought('42', '2026-03-10 09:00+00', 2), test.claim('41');
CREATE FUNCTION test.refunded_half(verified_at timestamptz, percentage integer DEFAULT NULL) RETURNS SETOF text
LANGUAGE sql AS $$
    SELECT test.hear(test.heard(id, 'server_api', quantity => 2, exclusion => 'refunded',
        purchased_at => '2026-03-10 09:00+00', refunded_at => '2026-03-11 08:00+00', verified_at => $1,
        revocation_type => CASE WHEN $2 IS NOT NULL THEN 'REFUND_PRORATED' END, revocation_percentage => $2))
    FROM unnest(ARRAY['41', '42']) AS id
$$;
SELECT test.refunded_half('2026-03-11 10:00+00');
SELECT test.close_books('2026-03-12 02:00+00');
SELECT test.present('2026-03-12 19:00+00');
SELECT test.refunded_half('2026-03-12 10:00+00', 50000);
SELECT test.is_explained('a share that is told later is explained');
SELECT set_eq(
    $$SELECT test.lines_of(test.close_books('2026-03-13 02:00+00'))$$,
    $$VALUES
        ('2026-03-12 excluded 2026-03-11 gems USD list refunded 0 0 -5.000'),
        ('2026-03-12 kept 2026-03-11 gems USD list 0 0 5.000'),
        ('2026-03-12 refunded 2026-03-11 gems USD list 0 0 -5.000')$$, 'and booked, in both accounts');
SELECT test.is_explained('and explained once it is closed');
SELECT results_eq(
    $$SELECT refunded, transactions, amount FROM finance.refunds_as_of('2026-03-12')
    WHERE refund_day = '2026-03-11' ORDER BY refunded$$,
    $$SELECT refunded, transactions, amount FROM finance.refunds WHERE refund_day = '2026-03-11' ORDER BY refunded$$,
    'finance is told the same as of that day');

-- What was taken back is no line of nought, what is not owed for another reason no refund, and what is bought in the
-- future not less than new.
SELECT test.present('2026-03-13 10:00+00');
SELECT test.bought('43', '2026-03-13 09:00+00'), test.bought('44', '2026-03-13 09:00+00'),
    test.bought('45', '2026-03-20 09:00+00'), test.resolve('43', 'delivered'), test.resolve('44', 'dismissed');
SELECT test.close_books('2026-03-14 02:00+00');
SELECT test.present('2026-03-14 10:00+00');
SELECT test.reopen('43'), test.claim('43');
SELECT test.close_books('2026-03-15 02:00+00');
SELECT results_eq(
    $$SELECT delivery_day, delivered_by, transactions FROM finance.deliveries_as_of('2026-03-14')
    WHERE delivery_day >= '2026-03-13'$$,
    $$VALUES ('2026-03-14'::date, 'claim', 1::bigint)$$, 'it was delivered once');
SELECT is_empty(
    $$SELECT FROM finance.refunds_as_of('2026-03-14') WHERE refund_day = '2026-03-07' OR refund_day >= '2026-03-13'$$,
    'and nothing is refunded');
SELECT results_eq(
    $$SELECT purchase_day, age_days, ageing, transactions FROM finance.unclaimed_liability_as_of('2026-03-14')
    WHERE purchase_day >= '2026-03-13'$$,
    $$VALUES ('2026-03-20'::date, 0, '0-1', 1::bigint)$$, 'one is owed');

-- By currency, also where nothing of one was ever owed, or refunded.
SELECT test.import(test.heard('46', price_milliunits => 700, currency => 'CHF'));
SELECT test.hear(test.heard('47', exclusion => 'family_shared', price_milliunits => 800, currency => 'SEK'));
SELECT test.close_books('2026-03-16 02:00+00');
SELECT results_eq(
    $$SELECT * FROM finance.balances_as_of('2026-03-15')$$,
    $$VALUES
        ('com.example.a', 'CHF', 1::bigint, 0::bigint, 1::bigint, 0::bigint, 0::bigint, 0.000, 0.700, 0.000),
        ('com.example.a', 'CNY', 1, 1, 0, 0, 0, 7.000, 0.000, 0.000),
        ('com.example.a', 'SEK', 1, 0, 0, 1, 0, 0.000, 0.000, 0.000),
        ('com.example.a', 'USD', 11, 3, 5, 3, 2, 24.970, 29.970, 5.990)$$, 'what there is, and how much of it');

-- Also of what has no price: none of something, and how many of it, told later.
SELECT test.present('2026-03-16 10:00+00');
SELECT test.hear(test.heard('48', quantity => 0, exclusion => 'invalid_quantity')),
    test.hear(test.heard('49', product_id => 'unheard.of'));
SELECT set_eq(
    $$SELECT split_part(line, ' ', 2) || substr(line, strpos(line, 'unknown') + 7)
    FROM test.lines_of(test.close_books('2026-03-17 02:00+00')) AS line$$,
    ARRAY['excluded invalid_quantity 1 0', 'owed 1 1'], 'both are booked');
SELECT test.hear(test.heard('49', 'server_api', 'unheard.of', quantity => 2));
SELECT set_eq(
    $$SELECT split_part(line, ' ', 2) || substr(line, strpos(line, 'unknown') + 7)
    FROM test.lines_of(test.close_books('2026-03-18 02:00+00')) AS line$$,
    ARRAY['owed 0 1'], 'and so is one more');
SELECT test.is_explained('so that the journal explains them');

-- What was written while the clock was a year ahead is no later than the run that found it.
SELECT test.present('2027-06-01 10:00+00');
SELECT test.bought('A1', '2027-06-01 09:00+00');
SELECT test.close_books('2027-06-02 02:00+00');
SELECT test.present('2028-06-02 10:00+00');
SELECT test.claim('A1'), test.bought('A2', '2027-06-02 09:00+00');
SELECT test.present('2027-06-02 12:00+00');
SELECT test.close_books('2027-06-03 02:00+00');
SELECT test.close_books('2027-07-01 02:00+00');
SELECT test.is_explained('the journal explains it');
SELECT set_eq(
    $$SELECT test.finance(
        'SELECT product_id || '' '' || delivered || '' '' || entered
        FROM finance.statement(''2027-06-01'', ''2027-06-30'')
        WHERE product_id = ''gems'' AND entered > 0')$$,
    ARRAY['gems 1 2'], 'the statement of that month has both');
SELECT set_eq(
    $$SELECT booked_on FROM finance.purchases WHERE transaction_id = 'A2'
    UNION ALL
    SELECT max(booked_on) FROM finance.journal$$,
    ARRAY['2027-06-04'::date], 'on the day after the run, as finance reads of each purchase');
-- A run that goes on past midnight books on each of its days.
SELECT test.present('2027-07-02 23:50+00');
SELECT test.bought('A3', '2027-07-02 23:40+00');
SELECT test.present('2027-07-03 00:10+00');
SELECT test.bought('A4', '2027-07-03 00:05+00');
SELECT test.close_books('2027-07-02 23:45+00');
SELECT results_eq(
    $$SELECT transaction_id, booked_on FROM finance.purchases WHERE transaction_id IN ('A3', 'A4') ORDER BY 1$$,
    $$VALUES ('A3' COLLATE "C", '2027-07-02'::date), ('A4', '2027-07-03')$$, 'each on its own day');
-- A claim whose transaction began before midnight takes what was opened again after it.
SELECT test.present('2027-07-05 12:00+00');
SELECT test.bought('A5', '2027-07-05 11:00+00'), test.resolve('A5', 'dismissed');
SELECT test.present('2027-07-06 00:10+00');
SELECT is(test.reopen('A5'), 'reopened', 'opened again after midnight');
SELECT test.present('2027-07-05 23:55+00');
SELECT is(test.claim('A5'), 'delivered', 'and claimed by a transaction from before it');
SELECT test.present('2027-07-07 02:00+00');
SELECT test.close_books('2027-07-07 02:00+00');
SELECT is_empty(
    $$SELECT test.finance('SELECT transactions::text FROM finance.unclaimed_liability_as_of(''2027-07-05'')
    WHERE transactions < 0')$$, 'no day ends with less than nothing owed');

-- Of what is not owed for another reason, Apple's share of a refund is neither refunded nor kept.
SELECT test.hear(test.heard(
    '48', 'server_api', exclusion => 'upgraded', purchased_at => '2027-07-05 09:00+00',
    refunded_at => '2027-07-05 10:00+00', verified_at => '2027-07-07 02:00+00', revocation_type => 'REFUND_PRORATED',
    revocation_percentage => 40000));
SELECT test.is_explained('what was upgraded');
-- And a run that has not closed its books is no closing.
INSERT INTO iap.runs (as_of, started_at, host, process_id, program_version)
VALUES ('2027-07-07 03:00+00', '2027-07-07 03:00+00', 'h', 1, '1');
SELECT is_empty(
    $$SELECT FROM finance.closings WHERE as_of = '2027-07-07 03:00+00'$$, 'finance hears of a run once it has closed');

-- The journal explains the ledger, and what it does not shows; so does what is gone.
DELETE FROM iap.transactions WHERE transaction_id = '1';
SELECT set_eq(
    $$SELECT test.finance('SELECT account || '' '' || transactions || '' '' || units || '' '' || amount
    FROM finance.unexplained')$$, $$VALUES ('delivered -1 -2 -1.980')$$, 'all but what is removed by hand');
SELECT is_empty($$SELECT test.finance('SELECT transaction_id FROM finance.differences')$$, 'every transaction is once');
INSERT INTO iap.sightings (
    transaction_id, bundle_id, environment, bucket, receipt_id, is_named, uploaded_at, first_run_id)
VALUES
    ('1', 'com.example.a', 'Production', 1, 65, true, now(), 8),
    ('6', 'com.example.a', 'Production', 1, 65, true, now(), 8),
    ('9', 'com.example.a', 'Production', 1, 65, true, now(), NULL),
    -- Seen again later; of ids that are known in another environment, and in another app.
    ('1', 'com.example.a', 'Production', 1, 129, true, now(), 9),
    ('4', 'com.example.a', 'Production', 1, 65, true, now(), 8),
    ('6', 'com.example.b', 'Production', 1, 65, true, now(), 8);
SELECT results_eq(
    $$SELECT transaction_id, bundle_id, environment, difference, run_id, is_white, is_black, is_excluded
    FROM finance.differences ORDER BY 1$$,
    $$VALUES
        ('1' COLLATE "C", 'com.example.a' COLLATE "C", 'Production', 'nowhere', 8::bigint, false, false, false),
        ('4', 'com.example.a', 'Production', 'nowhere', 8, false, false, false),
        ('6', 'com.example.b', 'Production', 'nowhere', 8, false, false, false)$$,
    'but for what is gone, by the run that received it first');
UPDATE iap.transactions SET booked_milliunits = 1 WHERE transaction_id = '2';
UPDATE iap.white SET quantity = 4 WHERE transaction_id = '31';
SELECT set_eq(
    $$SELECT test.finance('SELECT account || '' '' || product_id || '' '' || transactions || '' '' || units || '' ''
    || amount FROM finance.unexplained')$$,
    $$VALUES
        ('delivered gems -1 -2 -1.980'), ('excluded gems 0 0 -0.989'), ('owed gold 0 1 0.000')$$,
    'what was changed by hand shows too');

-- And what had neither units nor a price.
SELECT test.hear(test.heard('zero', product_id => 'plain', quantity => 0, exclusion => 'invalid_quantity'));
SELECT test.close_books('2027-07-08 02:00+00');
DELETE FROM iap.transactions WHERE transaction_id = 'zero';
SELECT set_eq(
    $$SELECT test.finance('SELECT account || '' '' || product_id || '' '' || transactions || '' '' || units
    FROM finance.unexplained WHERE product_id = ''plain''')$$,
    $$VALUES ('excluded plain -1 0')$$, 'what is worth nothing is missed, too');

-- An app's server can't choose its present.
CREATE ROLE test_app LOGIN IN ROLE iap_app;
SET LOCAL SESSION AUTHORIZATION test_app;
SET LOCAL iap.present = '2020-01-01 00:00+00';
SELECT iap.admit('com.example.a', 'Production', '21', '21', 'gems', 1, now(), 'ann') AS admitted,
    iap.claim('com.example.a', '21', 'ann') AS claimed;
RESET SESSION AUTHORIZATION;
SELECT results_eq(
    $$SELECT first_seen_at, delivered_at FROM iap.black WHERE transaction_id = '21'$$, 'VALUES (now(), now())',
    'an app''s server can''t choose its present');

SELECT * FROM finish();
ROLLBACK;
