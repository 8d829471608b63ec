-- The views of schema finance, read as finance reads them.
BEGIN;
SELECT no_plan();

INSERT INTO iap.products (bundle_id, product_id, type, name) VALUES ('com.example.a', 'gift', 'consumable', 'Gift');

-- Unclaimed liability: by day, product and currency, at Apple's price or else the list's.
SELECT test.admit('1', quantity => 2), test.admit('2'), test.admit('3'), test.admit('4', product_id => 'gift'),
    test.admit('5', environment => 'Sandbox'), test.admit('6', product_id => 'unheard.of'), test.admit('7');
SELECT test.hear(test.heard('3', price_milliunits => 7000, currency => 'CNY')),
    test.hear(test.heard('7', is_trial => true));
SELECT results_eq(
    $$SELECT product_id, product_name, currency, price_source, transactions, units, amount
    FROM finance.unclaimed_liability ORDER BY 1, 4$$,
    $$VALUES
        ('gems' COLLATE "C", '60 Gems', 'CNY', 'apple', 1::bigint, 1::bigint, 7.000),
        ('gems', '60 Gems', 'USD', 'list', 2, 3, 2.970),
        ('gems', '60 Gems', 'USD', 'trial', 1, 1, 0.000),
        ('gift', 'Gift', NULL, 'unknown', 1, 1, NULL),
        ('unheard.of', NULL, NULL, 'unknown', 1, 1, NULL)$$, 'what is owed, without the sandbox');
DELETE FROM iap.white WHERE transaction_id <> '1';
CREATE FUNCTION test.ageing(days integer) RETURNS text
LANGUAGE sql AS $$
    UPDATE iap.white SET purchased_at = date_trunc('day', now()) + interval '12 hours' - days * interval '1 day';
    SELECT test.run_as('iap_finance', 'SELECT age_days || '': '' || ageing FROM finance.unclaimed_liability')
$$;
SELECT is(test.ageing(days), days || ': ' || ageing, days || ' days')
FROM (
    VALUES
        (0, '0-1'), (1, '0-1'), (2, '2-7'), (7, '2-7'), (8, '8-30'), (30, '8-30'), (31, '31-90'), (90, '31-90'),
        (91, 'over 90'), (1000, 'over 90')
) AS expected (days, ageing);
SELECT is(test.ageing(-1), '0: 0-1', 'a purchase that the clock puts into the future');
SELECT is(
    test.run_as('iap_finance', 'SELECT amount FROM finance.unclaimed_liability'), '1.980', 'finance reads the amount');

-- Deliveries and refunds.
SELECT test.admit('8', quantity => 3), test.admit('9'), test.claim('8'), test.claim('9', 'ann', 'order-9');
SELECT test.admit('10'), test.resolve('10', 'delivered');
SELECT test.exclude('9', 'refunded');
UPDATE iap.black SET refund_reason = '1' WHERE transaction_id = '9';
SELECT results_eq(
    $$SELECT delivery_day, product_id, currency, delivered_by, transactions, units, amount
    FROM finance.deliveries ORDER BY delivered_by$$,
    $$VALUES
        (current_date, 'gems' COLLATE "C", 'USD', 'claim', 2::bigint, 4::bigint, 3.960),
        (current_date, 'gems', 'USD', 'resolved', 1, 1, 0.990)$$, 'what was delivered, and by whom');
SELECT results_eq(
    $$SELECT transaction_id, user_id, order_id, units, amount, refund_reason FROM finance.refunds_after_delivery$$,
    $$VALUES ('9' COLLATE "C", 'ann', 'order-9', 1, 0.990, '1')$$, 'what was refunded after its delivery');

-- Control totals.
INSERT INTO iap.runs (
    as_of, started_at, finished_at, host, process_id, program_version, state, exit_code, reason, verified, newly_white,
    already_white, already_black, excluded, opening_white, new, claimed, resolved, refunded, closing_white,
    closing_number)
VALUES
    (now(), now(), now(), 'h', 1, '1', 'complete', 0, NULL, '{4,5,6}', '{3,4,7}', '{0,0,0}', '{1,1,1}', '{0,0,0}',
     '{0,0,0}', '{3,4,7}', '{1,1,2}', '{0,0,0}', '{0,0,0}', '{2,3,5}', 1),
    (now(), now(), now(), 'h', 1, '1', 'complete', 0, NULL, '{0,0,0}', '{0,0,0}', '{0,0,0}', '{0,0,0}', '{0,0,0}',
     '{2,3,5}', '{0,0,0}', '{0,0,0}', '{0,0,0}', '{1,1,4}', '{1,2,1}', 2),
    -- Opens with what the run before did not close with; its hash is off; its verified are nowhere; it was killed.
    (now(), now(), now(), 'h', 1, '1', 'complete', 0, NULL, '{0,0,0}', '{0,0,0}', '{0,0,0}', '{0,0,0}', '{0,0,0}',
     '{2,3,5}', '{0,0,0}', '{0,0,0}', '{0,0,0}', '{0,0,0}', '{2,3,5}', 3),
    (now(), now(), now(), 'h', 1, '1', 'complete', 0, NULL, '{0,0,0}', '{0,0,0}', '{0,0,0}', '{0,0,0}', '{0,0,0}',
     '{2,3,5}', '{0,0,0}', '{0,0,0}', '{0,0,0}', '{0,0,0}', '{2,3,6}', 4),
    (now(), now(), now(), 'h', 1, '1', 'failed', 70, 'x', '{1,1,1}', '{0,0,0}', '{0,0,0}', '{0,0,0}', '{0,0,0}',
     NULL, NULL, NULL, NULL, NULL, NULL, NULL),
    (now(), now(), now(), 'h', 1, '1', 'abandoned', NULL, 'x', '{1,1,1}', '{1,1,1}', '{0,0,0}', '{0,0,0}', '{0,0,0}',
     NULL, NULL, NULL, NULL, NULL, NULL, NULL);
INSERT INTO iap.runs (as_of, started_at, host, process_id, program_version) VALUES (now(), now(), 'h', 1, '1');
SELECT results_eq(
    $$SELECT state, balances, count(*) FROM finance.control_totals GROUP BY run_id, state, balances ORDER BY run_id$$,
    $$VALUES
        ('complete', true, 11::bigint), ('complete', true, 11), ('complete', false, 11), ('complete', false, 11),
        ('failed', false, 11), ('abandoned', NULL, 11)$$, 'each run that ended, and whether it balances');
SELECT results_eq(
    $$SELECT total, transactions, units, hash FROM finance.control_totals
    WHERE run_id = (SELECT min(run_id) FROM iap.runs) ORDER BY position$$,
    $$VALUES
        ('verified', 4::bigint, 5::bigint, 6::bigint), ('newly white', 3, 4, 7), ('already white', 0, 0, 0),
        ('already black', 1, 1, 1), ('excluded', 0, 0, 0), ('opening white', 0, 0, 0), ('new', 3, 4, 7),
        ('claimed', 1, 1, 2), ('resolved', 0, 0, 0), ('refunded', 0, 0, 0), ('closing white', 2, 3, 5)$$,
    'with its eleven totals');
SELECT results_eq(
    $$SELECT day, runs, received, white, black, excluded, difference, balances FROM finance.control_totals_by_day$$,
    $$VALUES (current_date, 6::bigint, 6::bigint, 4::bigint, 1::bigint, 0::bigint, 1::bigint, false)$$,
    'and by day, with what is missing');

-- No personal data beyond the user id.
SELECT is_empty(
    $$SELECT attname FROM pg_attribute JOIN pg_class ON pg_class.oid = attrelid
    WHERE relnamespace = 'finance'::regnamespace AND attnum > 0
        AND attname IN ('device', 'payload', 'app_account_token', 'note')$$,
    'nothing of a device, a receipt or a note');

-- All views and functions, and nothing else.
SELECT lives_ok(
    format('SELECT test.run_as(%L, %L)', 'iap_finance', format('SELECT count(*) FROM finance.%I', relname)),
    'finance reads ' || relname)
FROM pg_class WHERE relnamespace = 'finance'::regnamespace AND relkind IN ('v', 'r');
SELECT ok(has_function_privilege('iap_finance', oid, 'EXECUTE'), 'finance calls ' || proname)
FROM pg_proc WHERE pronamespace = 'finance'::regnamespace;
SELECT test.is_denied('iap_finance', format('SELECT count(*) FROM iap.%I', relname))
FROM pg_class WHERE relnamespace = 'iap'::regnamespace AND relkind = 'r';

SELECT * FROM finish();
ROLLBACK;
